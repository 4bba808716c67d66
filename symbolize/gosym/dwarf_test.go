package gosym

import (
	"debug/dwarf"
	"debug/elf"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDwarfAgrees compares chains of inlined calls, and the lines of the calls,
// with those of the debug information, which the compiler writes from the same
// facts by another way.
func TestDwarfAgrees(t *testing.T) {
	t.Parallel()
	path := buildVariant(t, variantNamed(t, "plain"))
	table := openTable(t, path)
	dwarfCalls := readDwarf(t, path)
	differ, inlined, compared := 0, 0, 0
	for _, pc := range sampleText(table) {
		lines := linesAt(t, table, pc)
		want := dwarfCalls.at(uint64(pc))
		if len(lines) == 0 || lines[0].File == "" || len(want) == 0 {
			continue // padding, and functions of the linker
		}
		compared++
		if len(lines) > 1 {
			inlined++
		}
		var got []call
		for i, l := range lines {
			c := call{name: l.Name}
			if l.RawName != "" {
				c.name = l.RawName
			}
			if i+1 < len(lines) {
				c.line = lines[i+1].Line
			}
			got = append(got, c)
		}
		if !slices.Equal(got, want) {
			if differ++; differ < 10 {
				t.Logf("%#x: %v, debug information %v", pc, got, want)
			}
		}
	}
	t.Logf("%d of %d differ, %d inlined", differ, compared, inlined)
	assert.Greater(t, compared, asked/2)
	assert.Greater(t, inlined, asked/20)
	assert.LessOrEqual(t, differ, compared/200)
}

// call is a function and the line where it was called if it was inlined.
type call struct {
	name string
	line int64
}

// dwarfRange is a range of addresses of a function or of an inlined call.
type dwarfRange struct {
	start, limit uint64
	depth        int
	call         call
}

type dwarfRanges []dwarfRange

// at returns the calls at pc, innermost first.
func (r dwarfRanges) at(pc uint64) []call {
	var found []dwarfRange
	for _, x := range r {
		if pc >= x.start && pc < x.limit {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b dwarfRange) int { return b.depth - a.depth })
	var calls []call
	for _, x := range found {
		calls = append(calls, x.call)
	}
	return calls
}

func readDwarf(t *testing.T, path string) dwarfRanges {
	t.Helper()
	e, err := elf.Open(path)
	require.NoError(t, err)
	defer e.Close()
	d, err := e.DWARF()
	require.NoError(t, err)
	names := map[dwarf.Offset]string{}
	type entry struct {
		*dwarf.Entry
		depth int
	}
	var entries []entry
	depth := 0
	for r := d.Reader(); ; {
		x, err := r.Next()
		require.NoError(t, err)
		if x == nil {
			break
		}
		if name, ok := x.Val(dwarf.AttrName).(string); ok && x.Tag == dwarf.TagSubprogram {
			names[x.Offset] = strings.TrimSuffix(name, ".abi0")
		}
		if x.Tag == dwarf.TagSubprogram || x.Tag == dwarf.TagInlinedSubroutine {
			entries = append(entries, entry{x, depth})
		}
		switch {
		case x.Tag == 0:
			depth--
		case x.Children:
			depth++
		}
	}
	var ranges dwarfRanges
	for _, x := range entries {
		c := call{name: names[x.Offset]}
		if origin, ok := x.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
			c.name = names[origin]
		}
		if x.Tag == dwarf.TagInlinedSubroutine {
			c.line, _ = x.Val(dwarf.AttrCallLine).(int64)
		}
		pcs, err := d.Ranges(x.Entry)
		require.NoError(t, err)
		for _, p := range pcs {
			ranges = append(ranges, dwarfRange{p[0], p[1], x.depth, c})
		}
	}
	return ranges
}
