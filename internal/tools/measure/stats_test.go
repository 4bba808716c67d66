package measure

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	assert.Zero(t, Median(nil))
	assert.InDelta(t, 2, Median([]float64{3, 1, 2}), 0)
	assert.InDelta(t, 2.5, Median([]float64{4, 1, 2, 3}), 0)
}

func TestSpread(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "-10.0 .. +20.0 %", Spread([]float64{100, 90, 120}))
	assert.Equal(t, "-", Spread(nil))
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, Table(&b, [][]string{{"a", "b"}, {"1", "2"}}))
	assert.Equal(t, "| a | b |\n|---|---|\n| 1 | 2 |\n", b.String())
}
