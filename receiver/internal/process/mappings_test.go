package process

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

func mapped(start, limit, offset uint64, path string) symbolize.Mapped {
	return symbolize.Mapped{Mapping: procmap.Mapping{
		Start: addr.Virtual(start), Limit: addr.Virtual(limit), Offset: addr.Offset(offset), Path: path,
	}}
}

func TestInsertReplacesWhatLiesBelow(t *testing.T) {
	base := []symbolize.Mapped{mapped(0x1000, 0x2000, 0, "a"), mapped(0x3000, 0x6000, 0x100, "b"), mapped(0x8000, 0x9000, 0, "c")}
	for name, c := range map[string]struct {
		add  symbolize.Mapped
		want []symbolize.Mapped
	}{
		"in a gap": {mapped(0x2000, 0x3000, 0, "x"),
			[]symbolize.Mapped{base[0], mapped(0x2000, 0x3000, 0, "x"), base[1], base[2]}},
		"in the middle of one, which is split": {mapped(0x4000, 0x5000, 0, "x"),
			[]symbolize.Mapped{base[0], mapped(0x3000, 0x4000, 0x100, "b"), mapped(0x4000, 0x5000, 0, "x"), mapped(0x5000, 0x6000, 0x2100, "b"), base[2]}},
		"over several, the ends cut": {mapped(0x1800, 0x8800, 0, "x"),
			[]symbolize.Mapped{mapped(0x1000, 0x1800, 0, "a"), mapped(0x1800, 0x8800, 0, "x"), mapped(0x8800, 0x9000, 0x800, "c")}},
		"exactly in place of one": {mapped(0x3000, 0x6000, 7, "x"),
			[]symbolize.Mapped{base[0], mapped(0x3000, 0x6000, 7, "x"), base[2]}},
		"first":                 {mapped(0, 0x1000, 0, "x"), append([]symbolize.Mapped{mapped(0, 0x1000, 0, "x")}, base...)},
		"last":                  {mapped(0x9000, 0xa000, 0, "x"), append(append([]symbolize.Mapped{}, base...), mapped(0x9000, 0xa000, 0, "x"))},
		"empty":                 {mapped(0x4000, 0x4000, 0, "x"), base},
		"ends before it starts": {mapped(0x5000, 0x4000, 0, "x"), base},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, insert(append([]symbolize.Mapped{}, base...), c.add))
		})
	}
}

func FuzzInsert(f *testing.F) {
	f.Add([]byte{1, 2, 0, 3, 1, 9})
	f.Fuzz(func(t *testing.T, ranges []byte) {
		var list []symbolize.Mapped
		for i := 0; i+1 < len(ranges); i += 2 {
			m := mapped(uint64(ranges[i]), uint64(ranges[i+1]), uint64(i), "f")
			list = insert(list, m)
			for j := range list {
				require.Less(t, list[j].Start, list[j].Limit)
				if j > 0 {
					require.LessOrEqual(t, list[j-1].Limit, list[j].Start)
				}
			}
			if m.Start < m.Limit {
				require.True(t, holds(list, &m))
			}
		}
	})
}
