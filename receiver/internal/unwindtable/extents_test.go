package unwindtable

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// No two parts overlap, and what was given back is one piece again.
func TestExtents(t *testing.T) {
	const size = 1000
	e := newExtents(size)
	random := rand.New(rand.NewPCG(1, 2))
	owner := make([]int, size)
	held := map[int]extent{}
	for turn := 1; turn <= 20000; turn++ {
		if random.IntN(2) == 0 {
			x, ok := e.take(1 + random.IntN(60))
			if !ok {
				continue
			}
			for i := x.at; i < x.at+x.count; i++ {
				require.Zero(t, owner[i])
				owner[i] = turn
			}
			held[turn] = x
			continue
		}
		for id, x := range held {
			for i := x.at; i < x.at+x.count; i++ {
				require.Equal(t, id, owner[i])
				owner[i] = 0
			}
			e.give(x)
			delete(held, id)
			break
		}
		used := 0
		for _, x := range held {
			used += x.count
		}
		require.Equal(t, used, e.used)
	}
	for _, x := range held {
		e.give(x)
	}
	require.Equal(t, []extent{{0, size}}, e.free)
	e.give(extent{})
	_, ok := e.take(size + 1)
	require.False(t, ok)
}
