package elffile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const (
	global = rank(0)
	weak   = rankBindWeak
	local  = rankBindLocal
	noType = rankNoType
)

// sym is a symbol in a section that ends at 0x1000. Size 0 is none.
type sym struct {
	name        string
	value, size uint64
	rank        rank
}

func tableOf(syms ...sym) *Symbols {
	names := []byte{0}
	cands := make([]candidate, 0, len(syms))
	for _, s := range syms {
		c := candidate{value: s.value, size: s.size, rank: s.rank, name: uint32(len(names))}
		if s.size == 0 {
			c.rank |= rankUnsized
			c.size = 0x1000 - s.value
		}
		names = append(append(names, s.name...), 0)
		cands = append(cands, c)
	}
	return newSymbols(cands, names)
}

func nameOf(s *Symbols, a addr.File) string {
	if i, ok := s.Lookup(a); ok {
		return s.Name(i)
	}
	return ""
}

func TestOneNameForEachAddress(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		syms []sym
		want map[addr.File]string
	}{
		"sizes are respected": {
			[]sym{{"a", 0x100, 0x10, global}, {"b", 0x120, 0x10, global}},
			map[addr.File]string{0: "", 0xff: "", 0x100: "a", 0x10f: "a", 0x110: "", 0x11f: "", 0x120: "b", 0x12f: "b", 0x130: "", 1 << 63: ""},
		},
		"function before no type": {
			[]sym{{"mark", 0x100, 0x10, noType}, {"_f", 0x100, 0x10, local}},
			map[addr.File]string{0x100: "_f"},
		},
		"function without size before no type with size": {
			[]sym{{"mark", 0x100, 0x10, noType}, {"f", 0x100, 0, global}},
			map[addr.File]string{0x108: "mark"}, // a symbol with a size that covers always wins
		},
		"size before none": {
			[]sym{{"f", 0x100, 0, global}, {"_sized", 0x100, 0x10, local}},
			map[addr.File]string{0x100: "_sized", 0x110: ""},
		},
		"global before weak before local": {
			[]sym{{"a", 0x100, 0x10, local}, {"b", 0x100, 0x10, weak}, {"c", 0x100, 0x10, global}, {"d", 0x200, 0x10, local}, {"e", 0x200, 0x10, weak}},
			map[addr.File]string{0x100: "c", 0x200: "e"},
		},
		"fewer underscores, no __GI_, shorter, alphabet": {
			[]sym{
				{"__strdup", 0x100, 8, global}, {"strdup2", 0x100, 8, global},
				{"__GI_x", 0x200, 8, global}, {"__xxxxxxxx", 0x200, 8, global},
				{"long", 0x300, 8, global}, {"abc", 0x300, 8, global}, {"abd", 0x300, 8, global},
			},
			map[addr.File]string{0x100: "strdup2", 0x200: "__xxxxxxxx", 0x300: "abc"},
		},
		"the innermost of nested ones": {
			[]sym{{"outer", 0x100, 0x100, global}, {"inner", 0x140, 0x20, local}, {"core", 0x148, 8, local}},
			map[addr.File]string{0x100: "outer", 0x13f: "outer", 0x140: "inner", 0x148: "core", 0x150: "inner", 0x160: "outer", 0x1ff: "outer", 0x200: ""},
		},
		"the later of overlapping ones": {
			[]sym{{"a", 0x100, 0x40, global}, {"b", 0x120, 0x40, local}},
			map[addr.File]string{0x11f: "a", 0x120: "b", 0x15f: "b", 0x160: ""},
		},
		"same start, other size: the better as far as it goes": {
			[]sym{{"short", 0x100, 0x10, global}, {"long", 0x100, 0x20, local}},
			map[addr.File]string{0x100: "short", 0x10f: "short", 0x110: "long", 0x11f: "long", 0x120: ""},
		},
		"without size up to the next": {
			[]sym{{"u1", 0x100, 0, noType}, {"u2", 0x180, 0, noType}, {"s", 0x200, 0x10, global}, {"u3", 0x220, 0, global}},
			map[addr.File]string{0xff: "", 0x17f: "u1", 0x180: "u2", 0x1ff: "u2", 0x200: "s", 0x210: "", 0x220: "u3", 0xfff: "u3", 0x1000: ""},
		},
		"without size inside one with a size": {
			[]sym{{"s", 0x100, 0x40, global}, {"u", 0x120, 0, global}},
			map[addr.File]string{0x120: "s", 0x13f: "s", 0x140: ""},
		},
		"marks name nothing": {
			[]sym{{"$x", 0x100, 0, noType | local}, {"$d.4", 0x140, 0, noType | local}, {".L3", 0x180, 0, local}, {".annobin_a.c", 0x1c0, 0, local}, {"$xy", 0x200, 0, noType}},
			map[addr.File]string{0x100: "", 0x140: "", 0x180: "", 0x1c0: "", 0x200: "$xy"},
		},
		"versions are cut": {
			[]sym{{"memcpy@@GLIBC_2.14", 0x100, 8, global}, {"@odd", 0x200, 8, global}},
			map[addr.File]string{0x100: "memcpy", 0x200: "@odd"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Whatever the order of the table.
			for seed := range uint64(20) {
				syms := append([]sym(nil), tt.syms...)
				rand.New(rand.NewPCG(seed, 0)).Shuffle(len(syms), func(i, j int) { syms[i], syms[j] = syms[j], syms[i] })
				s := tableOf(syms...)
				for a, want := range tt.want {
					assert.Equal(t, want, nameOf(s, a), "%#x in order %v", a, syms)
				}
			}
		})
	}
}

// naive is the rule said once more, one address at a time.
func naive(syms []sym, a uint64) string {
	var best *sym
	for i := range syms {
		s := &syms[i]
		if s.size == 0 || a < s.value || a-s.value >= s.size {
			continue
		}
		switch {
		case best == nil || s.value > best.value:
			best = s
		case s.value < best.value || s.rank > best.rank:
		case s.rank < best.rank || s.size < best.size ||
			s.size == best.size && better([]byte(s.name), []byte(best.name)) < 0:
			best = s
		}
	}
	if best == nil {
		return ""
	}
	return best.name
}

func TestSweepAgreesWithTheRule(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	ranks := []rank{global, weak, local, noType, noType | local}
	for range 300 {
		syms := make([]sym, rng.IntN(24))
		for i := range syms {
			start := rng.Uint64N(100)
			syms[i] = sym{fmt.Sprintf("f%d", rng.IntN(100)), start, 1 + rng.Uint64N(40), ranks[rng.IntN(len(ranks))]}
		}
		s := tableOf(syms...)
		for a := range uint64(150) {
			require.Equal(t, naive(syms, a), nameOf(s, addr.File(a)), "%d in %v", a, syms)
		}
	}
}

func TestSymbolsOutside(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": "int a(void) { return 1; }\nint b(void) { return 2; }\nint c(void) { return 3; }\n"}, "gcc -O1 -shared -fPIC -o out a.c")
	f := openFile(t, dir, "out")
	all := symbolsOf(t, f)
	b, ok := all.Find("b")
	require.True(t, ok)
	start, limit := all.Range(b)
	s, err := f.SymbolsOutside(start, limit)
	require.NoError(t, err)
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "": false, "nothing": false} {
		_, ok := s.Find(name)
		assert.Equal(t, want, ok, name)
	}
	assert.Empty(t, nameOf(s, start))
}
