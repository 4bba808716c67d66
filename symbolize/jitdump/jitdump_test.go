package jitdump

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"jit-1.dump": 1, "/tmp/x y/jit-4711.dump": 4711, "/jit-0.dump": 0, "jit-.dump": 0, "jit-1.dump2": 0,
		"jit-+1.dump": 0, "xjit-1.dump": 0, "jit--1.dump": 0, "jit-99999999999999999999.dump": 0, "": 0,
	} {
		pid, ok := ProcessOf(name)
		assert.Equal(t, want != 0, ok, name)
		if ok {
			assert.Equal(t, want, pid, name)
		}
	}
}

func TestNamesByAddress(t *testing.T) {
	t.Parallel()
	var r Reader
	l := newLog(0, 0).
		load(10, 0x1000, 0x100, "JS:*f /srv/a b.js:1:2", 0x100).
		record(4, 11, func() {}). // unwinding information
		load(12, 0x2000, 0x10, "g\xff;", 0).
		load(13, 0x100000, 0x100000, "large", 64<<10).
		record(99, 14, func() {}).
		record(3, 15, func() {})
	assert.True(t, update(t, &r, l.b))
	assert.False(t, update(t, &r, l.b))
	for a, want := range map[addr.Virtual]string{
		0xfff: "", 0x1000: "JS:*f /srv/a b.js:1:2", 0x10ff: "JS:*f /srv/a b.js:1:2", 0x1100: "",
		0x2000: "g\xff;", 0x2010: "", 0x100000: "large", 0x1fffff: "large", 0x200000: "", 1 << 63: "",
	} {
		assert.Equal(t, want, nameAt(&r, a, 0), "%#x", a)
	}
	c, ok := r.Lookup(0x1010, 0)
	require.True(t, ok)
	assert.Equal(t, Code{Name: "JS:*f /srv/a b.js:1:2", Start: 0x1000, Size: 0x100, FromNanos: 10}, c)
	assert.Zero(t, r.Malformed())
	assert.Equal(t, 3, r.Len())
	assert.False(t, r.Cut())
}

func TestAnAddressThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	var r Reader
	l := newLog(0, 0).load(100, 0x1000, 0x100, "first", 0)
	update(t, &r, l.b)
	l.load(200, 0x0f80, 0x100, "second", 0)
	update(t, &r, l.b)
	l.load(150, 0x1000, 0x10, "between", 0) // written late
	update(t, &r, l.b)
	tests := []struct {
		a    addr.Virtual
		at   uint64
		want string
	}{
		{0x1000, 0, "second"}, {0x1000, 200, "second"}, {0x1000, 1 << 62, "second"},
		{0x1000, 199, "between"}, {0x1000, 150, "between"}, {0x1000, 149, "first"}, {0x1000, 100, "first"},
		{0x1000, 50, "first"}, // there before it was listed
		{0x1020, 199, "first"}, {0x1020, 200, "second"}, {0x1080, 0, "first"}, {0x0f80, 1, "second"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, nameAt(&r, tt.a, tt.at), "%#x at %d", tt.a, tt.at)
	}
}

func TestContested(t *testing.T) {
	t.Parallel()
	var r Reader
	l := newLog(0, 0).
		load(1, 0x1000, 0x100, "f", 0).load(2, 0x1000, 0x100, "f", 0).
		load(3, 0x2000, 0x100, "f", 0).load(4, 0x2080, 0x100, "g", 0).
		load(5, 0x100000, 0x100000, "large", 0).load(6, 0x110000, 0x10, "small", 0).
		move(7, 0x1000, 0x3000, 0x100)
	update(t, &r, l.b)
	for a, want := range map[addr.Virtual]bool{
		0x1000: false, 0x2000: false, 0x2080: true, 0x2100: false, 0x110000: true, 0x110010: false, 0x3000: false, 0x9000: false,
	} {
		assert.Equal(t, want, r.Contested(a), "%#x", a)
	}
}

func TestTimesOfAnotherClockAreNotCompared(t *testing.T) {
	t.Parallel()
	var r Reader
	update(t, &r, newLog(flagArchTimestamp, 0).load(1e15, 0x1000, 0x10, "first", 0).load(1e14, 0x1000, 0x10, "second", 0).b)
	assert.Equal(t, "second", nameAt(&r, 0x1000, 100))
	assert.Equal(t, "second", nameAt(&r, 0x1000, 0))
}

func TestMovedCode(t *testing.T) {
	t.Parallel()
	var r Reader
	update(t, &r, newLog(0, 0).
		debug(0x1000, at{0x1000, 7, "a.js"}, at{0x1008, 8, "a.js"}).
		load(100, 0x1000, 0x10, "f", 0).
		move(200, 0x1000, 0x8000, 0x10).
		move(300, 0x9999, 0x8888, 0x10). // never loaded
		load(400, 0x1000, 0x10, "g", 0).b)
	assert.Equal(t, "f", nameAt(&r, 0x1000, 199))
	assert.Empty(t, nameAt(&r, 0x1000, 200))
	assert.Empty(t, nameAt(&r, 0x1000, 399))
	assert.Equal(t, "g", nameAt(&r, 0x1000, 400))
	c, ok := r.Lookup(0x800a, 250)
	require.True(t, ok)
	assert.Equal(t, Code{Name: "f", Start: 0x8000, Size: 0x10, File: "a.js", Line: 8, FromNanos: 200}, c)
	assert.Equal(t, uint64(1), r.Malformed())
}

func TestSourceLines(t *testing.T) {
	t.Parallel()
	lines := []at{{0x1004, 1, "/a.js"}, {0x1010, 2, "\xff"}, {0x1010, 3, "/b.js"}, {0x1008, 9, "/c.js"}}
	want := map[addr.Virtual]string{
		0x1000: ":0", 0x1003: ":0", 0x1004: "/a.js:1", 0x1007: "/a.js:1", 0x1008: "/c.js:9", 0x1010: "/b.js:3", 0x10ff: "/b.js:3",
	}
	check := func(l *log) {
		var r Reader
		update(t, &r, l.load(10, 0x1000, 0x100, "f", 0).b)
		for a, want := range want {
			c, ok := r.Lookup(a, 0)
			require.True(t, ok)
			assert.Equal(t, want, fmt.Sprintf("%s:%d", c.File, c.Line), "%#x", a)
		}
	}
	check(newLog(0, 0).debug(0x1000, lines...))
	shifted := append([]at(nil), lines...)
	for i := range shifted {
		shifted[i].address += v8Shift
	}
	check(newLog(0, v8Mark).debug(0x1000, shifted...))
	// A V8 that does not shift them any more.
	check(newLog(0, v8Mark).debug(0x1000, lines...))
	// Records of other code come between.
	l := newLog(0, 0).debug(0x1000, lines...)
	for i := range uint64(maxPending - 1) {
		l.debug(0x5000+i, at{0x5000, 1, "other"})
	}
	check(l)
}

func TestFileNamesThatV8Garbled(t *testing.T) {
	t.Parallel()
	const file = "/srv/hot script.js"
	garbage := "\x50\x77\x02\x00\x00\x00\x00\x00\x80\xa4\xff\x9b\xac\x30\x31\x11js"
	require.Len(t, garbage, len(file))
	for _, count := range []int{1, 2, 3, 20} {
		for padding := range 8 {
			var lines []at
			for i := range count {
				lines = append(lines, at{0x1000 + v8Shift + uint64(i)*4, uint32(3 + i), garbage})
			}
			l := newLog(0, v8Mark).debug(0x1000, lines...)
			l.b = append(l.b, make([]byte, padding)...)
			le.PutUint32(l.b[headerSize+4:], uint32(len(l.b)-headerSize))
			var r Reader
			update(t, &r, l.load(10, 0x1000, 0x100, "JS:*f "+file+":3:1", 0).b)
			for i := range count {
				c, _ := r.Lookup(addr.Virtual(0x1001+i*4), 0)
				assert.Equal(t, file, c.File, "%d entries, %d bytes of padding", count, padding)
				assert.Equal(t, int64(3+i), c.Line)
			}
			// Lines of another file are not given to this one.
			r = Reader{}
			update(t, &r, l.load(10, 0x1000, 0x100, "JS:*f "+file[1:]+"/of/another:3:1", 0).b)
			c, _ := r.Lookup(0x1001, 5)
			assert.Equal(t, file, c.File) // the first load took the lines
			c, _ = r.Lookup(0x1001, 10)
			assert.Empty(t, c.File)
		}
	}
	var r Reader
	update(t, &r, newLog(0, v8Mark).debug(0x1000, at{0x1040, 3, garbage}, at{0x1044, 4, garbage + "x"}).
		load(10, 0x1000, 0x100, "JS:*f "+file+":3:1", 0).b)
	c, ok := r.Lookup(0x1001, 0)
	assert.True(t, ok)
	assert.Empty(t, c.File)
	assert.Zero(t, c.Line)
}

func TestLinesBelongToOneLoad(t *testing.T) {
	t.Parallel()
	var r Reader
	update(t, &r, newLog(0, 0).debug(0x1000, at{0x1000, 1, "a.js"}).
		load(10, 0x1000, 0x10, "f", 0).load(20, 0x1000, 0x10, "g", 0).b)
	c, _ := r.Lookup(0x1000, 15)
	assert.Equal(t, "a.js", c.File)
	c, _ = r.Lookup(0x1000, 25)
	assert.Equal(t, Code{Name: "g", Start: 0x1000, Size: 0x10, FromNanos: 20}, c)
}

func TestRecordsThatAreBeingWritten(t *testing.T) {
	t.Parallel()
	whole := newLog(0, 0).debug(0x1000, at{0x1000, 1, "a.js"}).load(10, 0x1000, 0x10, "f", 16).load(20, 0x2000, 0x10, "g", 16).b
	var grown Reader
	for n := range len(whole) + 1 {
		var fresh Reader
		update(t, &fresh, whole[:n])
		update(t, &grown, whole[:n])
		for _, a := range []addr.Virtual{0x1000, 0x2000} {
			want := ""
			if r := bytes.IndexByte(whole, 'f'); a == 0x1000 && n >= r+2+16 {
				want = "f"
			}
			if a == 0x2000 && n == len(whole) {
				want = "g"
			}
			require.Equal(t, want, nameAt(&fresh, a, 0), "%d bytes", n)
			require.Equal(t, want, nameAt(&grown, a, 0), "%d bytes", n)
		}
	}
	assert.Zero(t, grown.Malformed())
}

func TestReplacedTruncatedRewritten(t *testing.T) {
	t.Parallel()
	var r Reader
	update(t, &r, newLog(0, 0).load(10, 0x1000, 0x10, "old", 0).load(11, 0x3000, 0x10, "gone", 0).b)
	other := newLog(0, 0)
	le.PutUint64(other.b[24:], 777) // begun at another time
	other.load(10, 0x1000, 0x10, "new", 0).load(10, 0x2000, 0x10, "more", 200)
	assert.True(t, update(t, &r, other.b))
	assert.Equal(t, "new", nameAt(&r, 0x1000, 0))
	assert.Empty(t, nameAt(&r, 0x3000, 0))
	shorter := newLog(0, 0)
	copy(shorter.b, other.b[:headerSize])
	assert.True(t, update(t, &r, shorter.b))
	assert.Empty(t, nameAt(&r, 0x1000, 0))
	update(t, &r, other.b)
	assert.True(t, update(t, &r, nil))
	assert.Zero(t, r.Len())
}

func TestRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	set := func(at int, v uint32) []byte {
		b := newLog(0, 0).load(1, 0x1000, 0x10, "f", 0).b
		le.PutUint32(b[at:], v)
		return b
	}
	for name, b := range map[string][]byte{
		"magic": set(0, 0x4454694A), "version": set(4, 2), "small header": set(8, 39), "large header": set(8, 1<<30),
		"text": []byte(strings.Repeat("1000 10 name\n", 10)),
	} {
		var r Reader
		for range 2 {
			changed, more, err := r.Update(bytes.NewReader(b), int64(len(b)))
			require.ErrorIs(t, err, ErrFormat, name)
			assert.False(t, changed || more, name)
		}
	}
}

func TestDamagedRecords(t *testing.T) {
	t.Parallel()
	l := newLog(0, 0).
		load(1, 0x1000, 0, "empty", 0).
		load(2, 0x1000, maxSize+1, "too much code", 0).
		load(3, 1<<64-8, 0x10, "wraps", 0).
		load(4, 0x1000, 0x10, "", 0).
		load(5, 0x1000, 0x10, strings.Repeat("x", maxName+1), 0).
		record(recordLoad, 6, func() {}).
		record(recordMove, 7, func() {}).
		record(recordDebug, 8, func() {}).
		load(9, 0x2000, 0x10, "good", 0)
	noName := newLog(0, 0)
	noName.record(recordLoad, 1, func() {
		noName.u32(1, 1)
		noName.u64(0x1000, 0x1000, 16, 1)
		noName.b = append(noName.b, "no end"...)
	})
	l.b = append(l.b, noName.b[headerSize:]...)
	var r Reader
	update(t, &r, l.b)
	assert.Equal(t, "good", nameAt(&r, 0x2000, 0))
	assert.Empty(t, nameAt(&r, 0x1000, 0))
	assert.Equal(t, 1, r.Len())
	assert.Equal(t, uint64(8), r.Malformed())

	// Lines that claim to be more than there are.
	d := newLog(0, 0).debug(0x1000, at{0x1000, 1, "a.js"})
	le.PutUint64(d.b[headerSize+prefixSize+8:], 1<<60)
	r = Reader{}
	update(t, &r, d.load(1, 0x1000, 0x10, "f", 0).b)
	c, _ := r.Lookup(0x1000, 0)
	assert.Equal(t, "a.js", c.File)

	// Behind a record without a size there is nothing to be found.
	l.record(recordLoad, 10, func() {})
	le.PutUint32(l.b[len(l.b)-prefixSize+4:], 15)
	r = Reader{}
	for range 2 {
		_, more, err := r.Update(bytes.NewReader(l.b), int64(len(l.b)))
		require.ErrorIs(t, err, ErrFormat)
		assert.False(t, more)
	}
	assert.Equal(t, "good", nameAt(&r, 0x2000, 0))
}

func TestBoundsOfWhatIsReadAndHeld(t *testing.T) {
	t.Parallel()
	var r Reader
	l := newLog(0, 0)
	for i := range uint64(maxEntries + 1000) {
		l.load(i, 0x1000+i*0x40, 0x40, fmt.Sprintf("function number %d", i), 0)
	}
	rounds := 0
	for more := true; more; rounds++ {
		f := counter{r: bytes.NewReader(l.b)}
		var err error
		_, more, err = r.Update(&f, int64(len(l.b)))
		require.NoError(t, err)
		require.LessOrEqual(t, f.n, int64(maxUpdate+windowSize+headerSize))
	}
	assert.Greater(t, rounds, 1)
	assert.True(t, r.Cut())
	assert.LessOrEqual(t, r.Len(), maxEntries)
	assert.Greater(t, r.Len(), maxEntries/3)
	last := uint64(maxEntries + 999)
	assert.Equal(t, fmt.Sprintf("function number %d", last), nameAt(&r, addr.Virtual(0x1000+last*0x40), 0))
	assert.Equal(t, "function number 131000", nameAt(&r, 0x1000+131000*0x40, 0))
	assert.Empty(t, nameAt(&r, 0x1000, 0))
	assert.Less(t, r.Bytes(), int64(64<<20))

	// The same place again and again.
	r = Reader{}
	l = newLog(0, 0)
	for i := range uint64(5000) {
		l.load(i, 0x1000, 0x40, fmt.Sprint(i), 0).load(i, 0x100000, 0x100000, fmt.Sprint("large", i), 0)
	}
	update(t, &r, l.b)
	assert.Equal(t, "4999", nameAt(&r, 0x1000, 0))
	assert.Equal(t, "4700", nameAt(&r, 0x1000, 4700))
	assert.Equal(t, "large4999", nameAt(&r, 0x100000, 0))
	assert.LessOrEqual(t, len(r.table.pages[0]), maxPerPage)
	assert.LessOrEqual(t, len(r.table.large), maxLarge)
}

type counter struct {
	r io.ReaderAt
	n int64
}

func (c *counter) ReadAt(b []byte, off int64) (int, error) {
	c.n += int64(len(b))
	return c.r.ReadAt(b, off)
}

func TestNamesAndLinesAreBounded(t *testing.T) {
	t.Parallel()
	var r Reader
	l := newLog(0, 0)
	long := strings.Repeat("n", 15<<10)
	for i := range uint64(3000) { // 45 MB of names
		l.debug(0x1000+i*0x40, at{0x1000 + i*0x40, uint32(i), fmt.Sprint(i)}).load(i, 0x1000+i*0x40, 0x40, fmt.Sprint(long, i), 0)
	}
	for more := true; more; {
		var err error
		_, more, err = r.Update(bytes.NewReader(l.b), int64(len(l.b)))
		require.NoError(t, err)
		require.Less(t, r.Bytes(), int64(maxNames+8<<20))
	}
	c, ok := r.Lookup(0x1000+2999*0x40, 0)
	require.True(t, ok)
	assert.Equal(t, int64(2999), c.Line)
	assert.Equal(t, "2999", c.File)
	assert.Equal(t, long+"2999", c.Name)
	c, ok = r.Lookup(0x1000+2700*0x40, 0)
	require.True(t, ok)
	assert.Equal(t, long+"2700", c.Name)
}

func FuzzUpdate(f *testing.F) {
	f.Add(newLog(0, 0).debug(0x1000, at{0x1000, 7, "a.js"}, at{0x1008, 8, "\xff"}).load(10, 0x1000, 0x100, "f", 16).
		move(20, 0x1000, 0x8000, 0x10).load(30, 0x1000, 0x10, "g", 0).record(3, 40, func() {}).b, uint16(80))
	f.Add(newLog(0, v8Mark).debug(0x1000, at{0x1040, 7, "/a.js\x00b"}, at{0x1048, 8, "/a.js\x00b"}).load(10, 0x1000, 0x100, "JS:*f /a.js/b:1:1", 1).b, uint16(0))
	f.Add(newLog(flagArchTimestamp, v8Mark).debug(0x1000, at{0x1040, 7, "a.js"}).load(10, 0x1000, 0x3000000, "large", 0).b, uint16(0))
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) {
		var r, whole Reader
		_, _, _ = r.Update(bytes.NewReader(b[:min(int(cut), len(b))]), int64(min(int(cut), len(b))))
		_, _, err := r.Update(bytes.NewReader(b), int64(len(b)))
		_, _, err2 := whole.Update(bytes.NewReader(b), int64(len(b)))
		if (err == nil) != (err2 == nil) || r.Len() != whole.Len() || r.Bytes() > 64<<20 {
			t.Fatalf("in pieces %d and %v, at once %d and %v", r.Len(), err, whole.Len(), err2)
		}
		for i := range r.table.entries {
			e := &r.table.entries[i]
			for _, at := range []uint64{0, e.from, e.until} {
				a, aok := r.Lookup(addr.Virtual(e.start), at)
				b, bok := whole.Lookup(addr.Virtual(e.start), at)
				if a != b || aok != bok || aok && a.Name == "" {
					t.Fatalf("%+v and %+v", a, b)
				}
			}
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	l := newLog(0, 0)
	for i := range uint64(10_000) {
		l.load(i, 0x1000+i*0x400, 0x400, fmt.Sprintf("JS:*function%d /srv/app/file.js:%d:1", i, i), 0x400)
	}
	b.SetBytes(int64(len(l.b)))
	var r Reader
	for b.Loop() {
		r = Reader{}
		for more := true; more; {
			var err error
			if _, more, err = r.Update(bytes.NewReader(l.b), int64(len(l.b))); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(r.Bytes())/float64(r.Len()), "held-B/entry")
}

func BenchmarkLookup(b *testing.B) {
	l := newLog(0, 0)
	for i := range uint64(20_000) {
		l.load(i, 0x1000+i*0x100, 0x100, fmt.Sprint("f", i), 0)
	}
	var r Reader
	update(b, &r, l.b)
	i := 0
	for b.Loop() {
		i++
		if _, ok := r.Lookup(addr.Virtual(0x1000+i*0x9a3%(20_000*0x100)), 1<<62); !ok {
			b.Fatal(i)
		}
	}
}
