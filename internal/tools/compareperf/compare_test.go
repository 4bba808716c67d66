//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const script = `
            1159 helper (/tmp/burn)
            119d heavy (/tmp/burn)

ffffffff81a3b5c0 read_zero ([kernel.kallsyms])
            1200 main (/tmp/burn)

    7f0012345678 JS:*loop /x y.js:11:26 (/tmp/perf-42.map)

          8d1234 v8::Call(int, char*) (/usr/bin/node)
               0 [unknown] ([unknown])
`

func TestPerfScriptLeaves(t *testing.T) {
	t.Parallel()
	s, err := parsePerf([]byte(script))
	require.NoError(t, err)
	assert.InDelta(t, 4, s.total, 0)
	assert.Equal(t, map[string]float64{"helper": 1, "read_zero": 1, "JS:*loop /x y.js:11:26": 1, "v8::Call": 1}, s.functions)
	assert.Equal(t, map[string]float64{"burn": 1, "[kernel]": 1, "[anon]": 1, "node": 1}, s.modules)
}

func TestOverlapCountsOnlyWhatMatters(t *testing.T) {
	t.Parallel()
	perf, ours := newSummary(), newSummary()
	perf.add("a", "x", 900)
	perf.add("b", "x", 95)
	perf.add("noise", "x", 5)
	ours.add("a", "x", 950)
	ours.add("other", "y", 50)
	row, overlap := compareFunctions("p", perf, ours)
	assert.InDelta(t, 0.5, overlap, 1e-9)
	assert.Equal(t, []string{"p", "1000 / 1000", "a 90.0, b 9.5", "a 95.0, other 5.0", "50 %"}, row)
}

func TestFunctionsWithinTheNoiseAreTheSame(t *testing.T) {
	t.Parallel()
	perf, ours := newSummary(), newSummary()
	perf.add("a", "x", 980)
	perf.add("b", "x", 20)
	ours.add("a", "x", 878)
	for _, name := range []string{"c", "d", "e", "f"} {
		ours.add(name, "x", 25)
	}
	_, overlap := compareFunctions("p", perf, ours)
	assert.InDelta(t, 0.5, overlap, 1e-9, "b is not there")
	ours.add("b", "x", 22)
	_, overlap = compareFunctions("p", perf, ours)
	assert.InDelta(t, 1, overlap, 1e-9, "b is behind five others, and has its share")
}

func TestModulesAreComparedByShare(t *testing.T) {
	t.Parallel()
	perf, ours := newSummary(), newSummary()
	perf.add("a", "x", 1000)
	ours.add("a", "x", 950)
	ours.add("other", "y", 50)

	rows, worst := compareModules("p", perf, ours)
	assert.InDelta(t, 0.05, worst, 1e-9)
	assert.Equal(t, [][]string{{"p", "x", "100.0 %", "95.0 %", "-5.0"}, {"p", "y", "0.0 %", "5.0 %", "+5.0"}}, rows)
}
