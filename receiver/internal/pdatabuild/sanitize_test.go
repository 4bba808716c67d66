package pdatabuild

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestSanitize(t *testing.T) {
	long := strings.Repeat("x", maxStringBytes)
	tests := []struct{ name, in, want string }{
		{"plain", "main", "main"},
		{"empty", "", ""},
		{"other scripts", "größe 名前 🔥", "größe 名前 🔥"},
		{"folded separators stay", "a;b c", "a;b c"},
		{"markup stays", `<b>&"'`, `<b>&"'`},
		{"one bad byte", "a\xffb", "a\ufffdb"},
		{"run of bad bytes", "a\xff\xfe\xfdb", "a\ufffdb"},
		{"overlong encoding", "a\xc0\xafb", "a\ufffdb"},
		{"surrogate", "a\xed\xa0\x80b", "a\ufffdb"},
		{"cut character", "a\xe5\x90", "a\ufffd"},
		{"NUL", "a\x00b", "a\ufffdb"},
		{"newline and tab", "a\n\tb", "a\ufffd\ufffdb"},
		{"escape sequence", "\x1b[31mred", "\ufffd[31mred"},
		{"DEL", "a\x7fb", "a\ufffdb"},
		{"C1 control", "a\u009bb", "a\ufffdb"},
		{"replacement character stays", "a\ufffdb", "a\ufffdb"},
		{"longest", long, long},
		{"too long", long + "y", long[:maxStringBytes-len(ellipsis)] + ellipsis},
		{"too long, cut in a character", strings.Repeat("é", maxStringBytes), strings.Repeat("é", (maxStringBytes-3)/2) + ellipsis},
		{"too long after replacing", strings.Repeat("\xffa", maxStringBytes/2), strings.Repeat("\ufffda", (maxStringBytes-3)/4) + ellipsis},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, sanitize(tt.in))
		})
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"main", "a\xffb", "a\x00b", "\x1b[31m", "名前", strings.Repeat("\xff", 5000), strings.Repeat("é", 2049)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := sanitize(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || len(got) > maxStringBytes {
			t.Errorf("sanitize(%q) = %q", s, got)
		}
		if len(got) > min(3*len(s), maxStringBytes) {
			t.Errorf("sanitize(%q) is longer than stringBound allows", s)
		}
		if sanitize(got) != got {
			t.Errorf("sanitize(%q) changes when repeated", s)
		}
	})
}
