package svg

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
)

func TestFit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pixels float64
		want   string
	}{
		{"main", 10, ""},
		{"main", 8 + 3*charWidth, "ma…"},
		{"main", 8 + 4*charWidth, "main"},
		{"longer_name", 8 + 6*charWidth, "longe…"},
		{"foo(int, char)", 8 + 5*charWidth, "foo…"},
		{"ns::Class::foo(int)", 8 + 19*charWidth, "ns::Class::foo(int)"},
		{"ns::Class::foo(int)", 8 + 18*charWidth, "ns::Class::foo…"},
		{"ns::Class::foo(int)", 8 + 14*charWidth, "…Class::foo"},
		{"ns::Class::foo(int)", 8 + 6*charWidth, "…foo"},
		{"std::vector<int, std::allocator<int>>::operator[](unsigned long)", 8 + 14*charWidth, "…operator[]"},
		{"operator()(int) const", 8 + 13*charWidth, "operator()…"},
		{"example.com/a/b.(*Server).Serve", 8 + 17.1*charWidth, "…(*Server).Serve"},
		{"example.com/a/b.(*Server).Serve", 8 + 8*charWidth, "…Serve"},
		{"<T as U>::call", 8 + 6*charWidth, "…call"},
		{"app::run::{{closure}}", 8 + 17*charWidth, "…run::{{closure}}"},
		{"com.example.Foo.bar", 8 + 9*charWidth, "…Foo.bar"},
		{"tcp_sendmsg.isra.0", 8 + 15*charWidth, "tcp_sendmsg.is…"},
		{"JS:*loop /srv/app/index.js:11:26", 8 + 12*charWidth, "JS:*loop…"},
		{"[libc.so.6]+0x1f2a0", 8 + 12*charWidth, "[libc.so.6]…"},
		{"a->b(c)", 8 + 6*charWidth, "a->b…"},
		{"\u65e5\u672c\u8a9e", 8 + 6*charWidth, "\u65e5\u672c\u8a9e"},
		{"\u65e5\u672c\u8a9e", 8 + 5.1*charWidth, "\u65e5\u672c…"},
		{"", 100, ""},
	} {
		assert.Equal(t, tt.want, fit(tt.name, tt.pixels), "%q at %v", tt.name, tt.pixels)
	}
}

func TestUnits(t *testing.T) {
	for _, tt := range []struct {
		valueType, unit string
		value           int64
		want            string
	}{
		{"samples", "count", 1234567, "1,234,567 samples"},
		{"samples", "count", 1, "1 sample"},
		{"events", "count", 0, "0 events"},
		{"", "", 5, "5 samples"},
		{"alloc", "objects", 5, "5 objects"},
		{"off_cpu", "nanoseconds", 1_500_000_000, "1.50 s"},
		{"off_cpu", "nanoseconds", 2_500_000, "2.50 ms"},
		{"off_cpu", "nanoseconds", 999, "999 ns"},
		{"off_cpu", "microseconds", 2_500, "2.50 ms"},
		{"off_cpu", "seconds", 1_234, "1,234 s"},
		{"alloc", "bytes", 5 << 20, "5.00 MiB"},
		{"alloc", "bytes", 100, "100 B"},
	} {
		u := unitOf(callgraph.ValueType{Type: tt.valueType, Unit: tt.unit})
		assert.Equal(t, tt.want, u.format(tt.value))
	}
}

// FuzzText puts names where the file has them: as text and as a label cut to any
// width. The result is well-formed, and says the same as what was put in.
func FuzzText(f *testing.F) {
	f.Add("a;b c\n<d>&\"e'", 40.0)
	f.Add("]]></script>\x1b\xff\xed\xa0\x80\u202e\ufffe", 1e3)
	f.Add(strings.Repeat("\u65e5", 50), 90.5)
	f.Fuzz(func(t *testing.T, name string, pixels float64) {
		shown := display(name)
		label := fit(shown, min(pixels, 1e6))
		require.True(t, utf8.ValidString(label))
		if pixels < 1e6 {
			require.LessOrEqual(t, float64(columns([]rune(label)))*charWidth, max(0, pixels))
		}
		d := xml.NewDecoder(strings.NewReader("<a b='" + escape(shown) + "'>" + escape(shown) + escape(label) + "</a>"))
		text := ""
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			switch tok := tok.(type) {
			case xml.StartElement:
				require.Equal(t, shown, tok.Attr[0].Value)
			case xml.CharData:
				text += string(tok)
			}
		}
		require.Equal(t, shown+label, text)
	})
}
