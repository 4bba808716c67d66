package dwarfline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

func TestFlattenAgreesWithTheRule(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		spans := make([]span, rng.IntN(20))
		for i := range spans {
			lo := rng.Uint64N(60)
			spans[i] = span{lo, lo + 1 + rng.Uint64N(30), uint32(i), uint32(i)}
		}
		given := append([]span(nil), spans...)
		rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		cuts := flatten(spans)
		for a := range uint64(100) {
			want := -1
			for i, s := range given {
				if a >= s.lo && a < s.hi && (want < 0 || s.lo > given[want].lo || s.lo == given[want].lo && i > want) {
					want = i
				}
			}
			got, ok := find(cuts, a)
			require.Equal(t, want >= 0, ok, "%d in %v: %v", a, given, cuts)
			if ok {
				require.Equal(t, uint32(want), got, "%d in %v: %v", a, given, cuts)
			}
		}
	}
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		table := &lineTable{header: &lineHeader{}}
		b := lineBuilder{table: table, isCode: func(a uint64) bool { return a >= 1000 }}
		want := map[uint64]machine{}
		start := uint64(0) // the first sequence is of discarded code
		for range 1 + rng.IntN(5) {
			m := machine{addr: start, file: 1, line: 1}
			var rows []machine
			for range 1 + rng.IntN(500) {
				m.addr += rng.Uint64N(4)
				m.line += uint32(rng.IntN(40)) - 20
				if rng.IntN(5) == 0 {
					m.file = uint32(rng.IntN(1 << 20))
				}
				b.row(m)
				rows = append(rows, m)
			}
			end := m.addr + rng.Uint64N(9)
			b.end(end)
			for i, r := range rows {
				limit := end
				if i+1 < len(rows) {
					limit = rows[i+1].addr
				}
				for a := r.addr; a < limit && start >= 1000; a++ {
					want[a] = r
				}
			}
			start = max(1000, end+rng.Uint64N(50))
		}
		b.finish()
		require.NoError(t, b.err)
		for a := range start + 100 {
			file, line, ok := table.find(a)
			w, known := want[a]
			require.Equal(t, known, ok, "%d", a)
			if ok {
				require.Equal(t, w.file, file)
				require.Equal(t, w.line, line)
			}
		}
	}
}

func TestRowsThatGoBackAreNotLost(t *testing.T) {
	t.Parallel()
	table := &lineTable{header: &lineHeader{}}
	b := lineBuilder{table: table, isCode: func(uint64) bool { return true }}
	for _, m := range []machine{{100, 1, 1}, {110, 1, 2}, {120, 1, 3}, {50, 1, 4}, {60, 1, 5}} {
		b.row(m)
	}
	b.end(70)
	b.finish()
	for a, want := range map[uint64]uint32{50: 4, 69: 5, 105: 1, 119: 2} {
		_, line, ok := table.find(a)
		assert.True(t, ok)
		assert.Equal(t, want, line, "%d", a)
	}
}

func cursorOf(window int, b ...byte) *cursor {
	return &cursor{sec: &section{r: bytes.NewReader(b), size: uint64(len(b))}, end: uint64(len(b)), work: &budget{1 << 20}, window: window}
}

func TestCursor(t *testing.T) {
	t.Parallel()
	for window := 1; window < 20; window++ {
		c := cursorOf(window, 0xe5, 0x8e, 0x26, 0x7f, 0x80, 0x7f, 'a', 'b', 0, 'c', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		assert.Equal(t, uint64(624485), c.uleb())
		assert.Equal(t, int64(-1), c.sleb())
		assert.Equal(t, int64(-128), c.sleb())
		assert.Equal(t, "ab", c.str())
		c.skipString()
		assert.Equal(t, uint16(0x0201), c.u16())
		assert.Equal(t, uint32(0x050403), c.u24())
		c.seek(3, 6)
		assert.Equal(t, uint8(0x7f), c.u8())
		c.skip(1)
		assert.True(t, c.more())
		assert.Equal(t, uint8(0x7f), c.u8())
		assert.False(t, c.more())
		require.NoError(t, c.err)
		assert.Zero(t, c.u8())
		assert.ErrorIs(t, c.err, ErrFormat)
		c.seek(0, 22)
		assert.Zero(t, c.u32(), "errors stay")
	}
	c := cursorOf(8, bytes.Repeat([]byte{0x80}, 100)...)
	c.uleb()
	assert.ErrorIs(t, c.err, ErrFormat)
	c = cursorOf(8, bytes.Repeat([]byte{'x'}, maxString+10)...)
	c.str()
	assert.ErrorIs(t, c.err, ErrTooBig)
}

// unit5 makes .debug_info and .debug_abbrev of entries that are written as
// abbreviation codes and values.
func unit5(abbrev string, entries string) (info, abbrevs []byte) {
	body := "\x05\x00\x01\x08\x00\x00\x00\x00" + entries
	n := len(body)
	return []byte(string([]byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)}) + body), []byte(abbrev)
}

// u64 is a number as bytes.
func u64(v uint64) string {
	b := make([]byte, 8)
	le.PutUint64(b, v)
	return string(b)
}

// abbreviations of hostile units: 1 is a unit with low_pc and high_pc, 2 a
// function with them and an abstract origin (ref4), 3 a block with children.
const hostileAbbrevs = "\x01\x11\x01\x11\x01\x12\x07\x00\x00" + "\x02\x2e\x01\x11\x01\x12\x07\x31\x13\x00\x00" + "\x03\x0b\x01\x00\x00" + "\x00"

func TestHostileUnits(t *testing.T) {
	t.Parallel()
	unit := "\x01" + u64(fuzzCode) + u64(0x100)
	self := string([]byte{12 + byte(len(unit)), 0, 0, 0})
	function := "\x02" + u64(fuzzCode) + u64(0x100)
	for name, tt := range map[string]struct {
		entries string
		want    error
	}{
		"refers to nothing":          {unit + function + "\xff\x00\x00\x00" + "\x00\x00", ErrFormat},
		"refers to itself":           {unit + function + self + "\x00\x00", ErrFormat},
		"nested without end":         {unit + function + self + string(bytes.Repeat([]byte{3}, maxDepth+10)), ErrTooBig},
		"unknown abbreviation":       {unit + function + self + "\x77", ErrFormat},
		"ends within":                {unit + function + self[:2], ErrFormat},
		"endless abbreviation codes": {unit + "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", ErrFormat},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, abbrevs := unit5(hostileAbbrevs, tt.entries)
			d := dataOf(info, abbrevs)
			lines, err := d.Lookup(fuzzCode+1, nil)
			assert.ErrorIs(t, err, tt.want)
			assert.Empty(t, lines)
		})
	}
}

// One damaged unit does not hide the others.
func TestDamagedUnitsAreLeftOut(t *testing.T) {
	t.Parallel()
	bad, abbrevs := unit5(hostileAbbrevs, "\x55")
	good, _ := unit5("", "\x01"+u64(fuzzCode)+u64(0x100)+"\x00")
	d := dataOf(append(bad, good...), abbrevs)
	lines, err := d.Lookup(fuzzCode, nil)
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.Len(t, d.index, 2)
	assert.ErrorIs(t, d.Damage(), ErrFormat)
}

// Many entries that share a long list of ranges would take quadratic time.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	abbrevs := "\x01\x11\x01\x11\x01\x12\x07\x00\x00" + "\x02\x2e\x00\x55\x17\x00\x00" + "\x00"
	entries := "\x01" + u64(fuzzCode) + u64(0x100000) + string(bytes.Repeat([]byte("\x02\x00\x00\x00\x00"), 20000)) + "\x00"
	info, ab := unit5(abbrevs, entries)
	for _, list := range []string{"\x07" + u64(0x1010) + "\x04", "\x07" + u64(0x10) + "\x04"} { // of code and of none
		d := dataOf(info, ab, nil, nil, nil, append(bytes.Repeat([]byte(list), 20000), 0))
		_, err := d.Lookup(fuzzCode, nil)
		assert.ErrorIs(t, err, ErrTooBig)
		_, err = d.Lookup(fuzzCode+1, nil) // remembered
		assert.ErrorIs(t, err, ErrTooBig)
	}
}

func TestDamagedFilesNeverPanic(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	dir := fixture.Build(t, chain, "gcc -g -O2 -nostdlib -static -o a chain.c", "gcc -g -gz=zlib -O2 -nostdlib -static -o z chain.c",
		"objcopy --compress-debug-sections=zstd a s")
	for _, name := range []string{"a", "z", "s"} {
		sound, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		answers := map[string]int{}
		for range 1500 {
			b := bytes.Clone(sound)
			for range 1 + rng.IntN(4) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
			if rng.IntN(10) == 0 {
				b = b[:rng.IntN(len(b))]
			}
			f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				continue
			}
			d, err := Open(f, bytes.NewReader(b), Options{MaxUnpacked: 1 << 20})
			if err != nil {
				continue
			}
			probe(t, d)
			answers[fmt.Sprint(d.indexErr == nil)]++
		}
		assert.Greater(t, answers["true"], 100, name)
	}
}
