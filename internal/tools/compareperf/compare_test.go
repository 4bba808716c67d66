//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const script = `
            1159 helper (/tmp/burn)
            119d heavy (/tmp/burn)

ffffffff81a3b5c0 read_zero ([kernel.kallsyms])
            1200 main (/tmp/burn)

    7f0012345678 JS:*loop /x y.js:11:26 (/tmp/perf-42.map)

          8d1234 _ZN2v84CallEiPc (/usr/bin/node)
               0 [unknown] ([unknown])
`

func TestPerfScriptLeaves(t *testing.T) {
	t.Parallel()
	s, err := parsePerf([]byte(script), &aliases{})
	require.NoError(t, err)
	assert.InDelta(t, 4, s.total, 0)
	assert.Equal(t, map[string]float64{"helper": 1, "read_zero": 1, "JS:*loop /x y.js:11:26": 1, "_ZN2v84CallEiPc": 1}, s.functions)
	assert.Equal(t, map[string]float64{"burn": 1, "[kernel]": 1, "[anon]": 1, "node": 1}, s.modules)
}

func TestOverlapCountsOnlyWhatMatters(t *testing.T) {
	t.Parallel()
	perf, ours := newSummary(), newSummary()
	perf.add("a", "x", 900)
	perf.add("b", "x", 95)
	perf.add("few", "x", 5)
	ours.add("a", "x", 950)
	ours.add("other", "y", 50)
	row, overlap := compareFunctions("p", perf, ours)
	assert.InDelta(t, 0.5, overlap, 1e-9)
	assert.Equal(t, []string{"p", "1000 / 1000", "a 90.0, b 9.5", "a 95.0, other 5.0", "1 of 2"}, row)
}

func TestOverlapIsWithOurFirstFive(t *testing.T) {
	t.Parallel()
	perf, ours := newSummary(), newSummary()
	perf.add("a", "x", 988)
	perf.add("b", "x", 12)
	ours.add("a", "x", 991)
	ours.add("b", "x", 9)
	_, overlap := compareFunctions("p", perf, ours)
	assert.InDelta(t, 1, overlap, 1e-9, "b is our second, with less than a per cent")
	for _, name := range []string{"c", "d", "e", "f"} {
		ours.add(name, "x", 10)
	}
	_, overlap = compareFunctions("p", perf, ours)
	assert.InDelta(t, 0.5, overlap, 1e-9, "b is our sixth")
}

func TestPprofLeafIsTheFunctionWithTheCode(t *testing.T) {
	t.Parallel()
	inner := &profile.Function{ID: 1, Name: "inner"}
	outer := &profile.Function{ID: 2, Name: "outer()", SystemName: "_Z5outerv"}
	caller := &profile.Function{ID: 3, Name: "caller"}
	m := &profile.Mapping{ID: 1, File: "/nowhere/program"}
	leaf := &profile.Location{ID: 1, Mapping: m, Line: []profile.Line{{Function: inner}, {Function: outer}}}
	root := &profile.Location{ID: 2, Mapping: m, Line: []profile.Line{{Function: caller}}}
	unnamed := &profile.Location{ID: 3, Mapping: m}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Function:   []*profile.Function{inner, outer, caller},
		Location:   []*profile.Location{leaf, root, unnamed},
		Mapping:    []*profile.Mapping{m},
		Sample: []*profile.Sample{
			{Location: []*profile.Location{leaf, root}, Value: []int64{3}},
			{Location: []*profile.Location{root}, Value: []int64{2}},
			{Location: []*profile.Location{unnamed, root}, Value: []int64{1}},
		},
	}
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, p.Write(file))
	require.NoError(t, file.Close())

	s, err := readPprof(path, &aliases{})
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"_Z5outerv": 3, "caller": 2, "[unknown]": 1}, s.functions)
	assert.Equal(t, map[string]float64{"program": 6}, s.modules)
}

func TestNamesOfOneAddressAreOne(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "alias.c")
	require.NoError(t, os.WriteFile(source, []byte(`int zeta(void) { return 1; }
int alpha(void) __attribute__((alias("zeta")));
int other(void) { return 2; }
int main(void) { return zeta() + other(); }
`), 0o600))
	program := strings.TrimSuffix(source, ".c")
	out, err := exec.Command("gcc", "-o", program, source).CombinedOutput()
	require.NoError(t, err, string(out))

	var a aliases
	assert.Equal(t, "alpha", a.canonical(program, "zeta"))
	assert.Equal(t, "alpha", a.canonical(program, "alpha"))
	assert.Equal(t, "other", a.canonical(program, "other"))
	assert.Equal(t, "JS:*f", a.canonical("/tmp/perf-0.map", "JS:*f"))
	assert.Equal(t, map[string]string{"f": "f", "g": "g"}, group(map[uint64][]string{1: {"g", "f"}, 2: {"g"}}), "g is two functions")
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
