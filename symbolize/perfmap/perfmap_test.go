package perfmap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func update(t testing.TB, r *Reader, inode uint64, text string) (changed bool) {
	t.Helper()
	changed, more, err := r.Update(strings.NewReader(text), ID{Inode: inode}, int64(len(text)))
	require.NoError(t, err)
	require.False(t, more)
	return changed
}

func nameOf(r *Reader, a addr.Virtual) string {
	name, _ := r.Lookup(a)
	return name
}

func TestNamesAreTheRestOfTheLine(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"1000 10 JS:*inner /srv/my app.js:1:15":     "JS:*inner /srv/my app.js:1:15",
		"1000 10 Lcom/x/Y;::run":                    "Lcom/x/Y;::run",
		"1000 10 py::f:/a/b.py":                     "py::f:/a/b.py",
		"0x1000 0x10 with prefix":                   "with prefix",
		"00001000 00000010  two spaces":             "two spaces",
		"1000 10 as on Windows\r":                   "as on Windows",
		"1000 10 upper ABCDEF \xff\x01\ttab":        "upper ABCDEF \xff\x01\ttab",
		"1000 10 instance void [A] B::C()[Tier1] ü": "instance void [A] B::C()[Tier1] ü",
	}
	for line, want := range tests {
		var r Reader
		update(t, &r, 1, line+"\n")
		assert.Equal(t, want, nameOf(&r, 0x1000), line)
		assert.Equal(t, want, nameOf(&r, 0x100f), line)
		assert.Empty(t, nameOf(&r, 0x1010), line)
		assert.Empty(t, nameOf(&r, 0xfff), line)
		assert.True(t, r.Same(0x1000, want))
	}
}

func TestLinesThatMakeNoSenseAreCounted(t *testing.T) {
	t.Parallel()
	bad := []string{
		"", "1000", "1000 10", "1000 10 ", "x 10 a", "1000 x a", "1000 0 empty", "1000 10 \r", "-1000 10 a",
		"fffffffffffffff0 10 wraps", "10000000000000000 10 a", "1000 5000000 too big",
		"0 ffffffffffffffff evil", "1000 10 " + strings.Repeat("x", maxLine),
		strings.Repeat("x", 3*maxLine),
	}
	var r Reader
	update(t, &r, 1, strings.Join(bad, "\n")+"\n2000 10 good\n")
	assert.Equal(t, "good", nameOf(&r, 0x2000))
	assert.Empty(t, nameOf(&r, 0x1000))
	assert.Equal(t, uint64(len(bad)), r.Malformed())
}

func TestHalfALine(t *testing.T) {
	t.Parallel()
	var r Reader
	update(t, &r, 1, "1000 10 one\n2000 1")
	assert.Empty(t, nameOf(&r, 0x2000))
	assert.False(t, update(t, &r, 1, "1000 10 one\n2000 10 tw"))
	assert.Empty(t, nameOf(&r, 0x2000))
	assert.True(t, update(t, &r, 1, "1000 10 one\n2000 10 two\n"))
	assert.Equal(t, "two", nameOf(&r, 0x2000))
	assert.False(t, update(t, &r, 1, "1000 10 one\n2000 10 two\n"))
	assert.Zero(t, r.Malformed())
}

func TestTruncatedRewrittenReplaced(t *testing.T) {
	t.Parallel()
	long := "1000 10 one\n" + strings.Repeat("3000 10 filler\n", 20)
	tests := map[string]struct {
		inode uint64
		text  string
	}{
		"truncated to nothing":             {1, ""},
		"truncated and shorter":            {1, "2000 10 other\n"},
		"rewritten and longer":             {1, "2000 10 other\n" + strings.Repeat("3000 10 padding\n", 40)},
		"replaced by rename, same size":    {2, strings.Replace(long, "1000 10 one", "2000 10 two", 1)},
		"rewritten, same size, other tail": {1, strings.ReplaceAll(strings.Replace(long, "1000", "2000", 1), "filler", "FILLER")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Reader
			update(t, &r, 1, long)
			require.Equal(t, "one", nameOf(&r, 0x1000))
			assert.True(t, update(t, &r, tt.inode, tt.text))
			assert.Empty(t, nameOf(&r, 0x1000))
			assert.Equal(t, strings.Contains(tt.text, "2000"), nameOf(&r, 0x2000) != "")
		})
	}
}

func TestLaterLinesWin(t *testing.T) {
	t.Parallel()
	var r Reader
	text := "1000 100 first\n1040 20 middle\n"
	update(t, &r, 1, text)
	for a, want := range map[addr.Virtual]string{0x103f: "first", 0x1040: "middle", 0x105f: "middle", 0x1060: "first", 0x10ff: "first", 0x1100: ""} {
		assert.Equal(t, want, nameOf(&r, a), "%#x", a)
	}
	text += "1000 100 second\n"
	update(t, &r, 1, text)
	assert.Equal(t, "second", nameOf(&r, 0x1040))
}

// TestTableAgreesWithTheRule compares with an array of the newest name of each
// address.
func TestTableAgreesWithTheRule(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var r Reader
		var newest [300]string
		text := ""
		for batch := range 1 + rng.IntN(6) {
			for i := range rng.IntN(20) {
				start, size := rng.IntN(200), 1+rng.IntN(60)
				name := fmt.Sprintf("f%d.%d", batch, i)
				text += fmt.Sprintf("%x %x %s\n", start, size, name)
				for a := start; a < start+size; a++ {
					newest[a] = name
				}
			}
			update(t, &r, 1, text)
		}
		if rng.IntN(2) == 0 { // as when recent is merged into base
			r.table.base = overlay(r.table.base, r.table.recent)
			r.table.recent = nil
		}
		for a, want := range newest {
			require.Equal(t, want, nameOf(&r, addr.Virtual(a)), "%#x of\n%s", a, text)
		}
	}
}

func TestNamesAreHeldOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "%x 10 function number %d of a program with long names\n", i*16, i%100)
	}
	var r Reader
	update(t, &r, 1, b.String())
	assert.Equal(t, 100_000, r.Len())
	assert.Equal(t, 100, r.table.names.count)
	assert.Equal(t, "function number 77 of a program with long names", nameOf(&r, 16*177))
	assert.Less(t, r.Bytes(), int64(3<<20))
}

// sparse is a huge file of zeros with text at its end.
type sparse struct {
	size int64
	end  string
	read int
}

func (s *sparse) ReadAt(b []byte, off int64) (int, error) {
	s.read += len(b)
	clear(b)
	if at := s.size - int64(len(s.end)) - off; at < int64(len(b)) {
		copy(b[at:], s.end)
	}
	return len(b), nil
}

func TestHugeFileIsReadFromItsEndInPieces(t *testing.T) {
	t.Parallel()
	f := &sparse{size: 500 << 20, end: "\n1000 10 newest\n"}
	var r Reader
	more, updates := true, 0
	for ; more; updates++ {
		before := f.read
		var err error
		_, more, err = r.Update(f, ID{}, f.size)
		require.NoError(t, err)
		require.LessOrEqual(t, f.read-before, maxUpdate+2*tailSize)
		require.Less(t, updates, 20)
	}
	assert.True(t, r.Cut())
	assert.Equal(t, "newest", nameOf(&r, 0x1000))
	assert.LessOrEqual(t, f.read, maxFile+20*tailSize)
}

func TestTooManyEntriesKeepTheNewest(t *testing.T) {
	t.Parallel()
	var r Reader
	var b bytes.Buffer
	n := maxEntries + maxEntries/4
	for i := range n {
		fmt.Fprintf(&b, "%x 1 f\n", i*2)
	}
	b.WriteString("5 1 last\n")
	for range 10 {
		if _, more, err := r.Update(bytes.NewReader(b.Bytes()), ID{}, int64(b.Len())); err != nil || !more {
			require.NoError(t, err)
			break
		}
	}
	assert.True(t, r.Cut())
	assert.LessOrEqual(t, r.Len(), 3*maxEntries/2)
	assert.Equal(t, "last", nameOf(&r, 5))
}

// TestOldNamesGoByParts has so many lines that not all are held, each of which
// names another address.
func TestOldNamesGoByParts(t *testing.T) {
	t.Parallel()
	var r Reader
	var b bytes.Buffer
	const n = 2 * maxEntries
	for i := range n {
		fmt.Fprintf(&b, "%010x 10 f\n", i*16)
	}
	for more := true; more; {
		var err error
		_, more, err = r.Update(bytes.NewReader(b.Bytes()), ID{}, int64(b.Len()))
		require.NoError(t, err)
		require.LessOrEqual(t, r.Len(), maxEntries)
	}
	assert.True(t, r.Cut())
	first := 0
	for nameOf(&r, addr.Virtual(first)*16) == "" {
		first++
	}
	assert.Greater(t, first, 0)
	assert.LessOrEqual(t, first, n-maxEntries/2, "more than half of what may be held is")
	for i := first; i < n; i++ {
		if nameOf(&r, addr.Virtual(i)*16) != "f" {
			t.Fatalf("%d of %d is missing, but not %d", i, n, first)
		}
	}
}

// TestMapThatMayBeHeldIsHeld is one that is neither too long nor has too many
// names.
func TestMapThatMayBeHeldIsHeld(t *testing.T) {
	t.Parallel()
	var r Reader
	var b bytes.Buffer
	for i := range maxEntries * 9 / 10 {
		fmt.Fprintf(&b, "%x 10 function %d\n", i*16, i%1000)
	}
	for more := true; more; {
		var err error
		_, more, err = r.Update(bytes.NewReader(b.Bytes()), ID{}, int64(b.Len()))
		require.NoError(t, err)
	}
	assert.False(t, r.Cut())
	assert.Equal(t, "function 0", nameOf(&r, 0))
	assert.Equal(t, maxEntries*9/10, r.Len())
}

func TestContested(t *testing.T) {
	t.Parallel()
	var r Reader
	text := "1000 10 before\n"
	update(t, &r, 1, text)
	r.Watch([]addr.Virtual{0x2005, 0x1005, 0x3005, 0x4005})
	text += "1000 10 one\n2000 10 one\n3000 5 beside\n3006 5 beside\n4000 10 same\n"
	update(t, &r, 1, text)
	for _, at := range []addr.Virtual{0x1005, 0x2005, 0x3005, 0x4005} {
		assert.False(t, r.Contested(at), "%#x", at)
	}
	r.Watch([]addr.Virtual{0x1005, 0x2005, 0x4005})
	text += "0 2006 two\n4000 10 same\n"
	update(t, &r, 1, text)
	assert.True(t, r.Contested(0x1005), "not by what was there before")
	assert.True(t, r.Contested(0x2005))
	assert.False(t, r.Contested(0x3005), "no longer watched")
	assert.False(t, r.Contested(0x4005))
	update(t, &r, 2, "1000 10 replaced\n")
	assert.True(t, r.Contested(0x1005), "what a file that was replaced said counts")
	r.Watch(nil)
	assert.False(t, r.Contested(0x1005))
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("1000 10 a b;c\n0x1008 0x10 b\n2000 1"), []byte("0 c\n"))
	f.Add([]byte("0 ffffffffffffffff evil\n"), []byte("\n\n 1 1 \n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		// Whether a file is read at once or in two pieces makes no difference.
		whole := append(bytes.Clone(first), second...)
		var a, b Reader
		read := func(r *Reader, text []byte) {
			if _, _, err := r.Update(bytes.NewReader(text), ID{}, int64(len(text))); err != nil {
				t.Fatal(err)
			}
		}
		read(&a, whole)
		read(&b, first)
		read(&b, whole)
		if a.Malformed() != b.Malformed() {
			t.Fatalf("%d and %d malformed lines", a.Malformed(), b.Malformed())
		}
		for _, e := range append(append([]entry(nil), a.table.base...), a.table.recent...) {
			for _, at := range []addr.Virtual{addr.Virtual(e.start), addr.Virtual(e.end() - 1)} {
				if x, y := nameOf(&a, at), nameOf(&b, at); x != y || x == "" {
					t.Fatalf("%#x is %q and %q", at, x, y)
				}
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	var text bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&text, "%x %x JS:*function%d /srv/app/node_modules/module/lib/file.js:%d:15\n", 0x7f0000000000+i*512, 480, i%20000, i%300)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		var r Reader
		for more := true; more; {
			_, more, _ = r.Update(bytes.NewReader(text.Bytes()), ID{}, int64(text.Len()))
		}
	}
}
