package svg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What nth finds is what stands there after sorting.
func TestNthIsThatOfTheSortedList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, list := range map[string][]int64{
		"one":     {7},
		"equal":   {3, 3, 3, 3},
		"small":   {2, 1, 3, 1, 2, 1, 0},
		"extreme": {math.MaxInt64, 0, -1, math.MinInt64, 1 << 32, 1<<32 - 1, math.MaxInt64},
	} {
		checkNth(t, name, list)
	}
	for range 20 {
		list := make([]int64, 500)
		for i := range list {
			list[i] = r.Int64() >> r.IntN(64)
		}
		checkNth(t, "random", list)
	}
}

func checkNth(t *testing.T, name string, list []int64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(list))
	for n, want := range sorted {
		value, before := nth(list, n)
		assert.Equal(t, want, value, "%s, %d", name, n)
		assert.Equal(t, n-slices.Index(sorted, want), before, "%s, %d", name, n)
	}
}
