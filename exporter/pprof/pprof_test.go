package pprof_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/pprof"
)

var update = flag.Bool("update", false, "write the golden files")

// written is a profile as another program reads it.
func written(t testing.TB, opts pprof.Options, graphs ...*callgraph.Graph) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pprof.Write(&b, graphs, opts))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

func total(p *profile.Profile, index int) int64 {
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[index]
	}
	return sum
}

// detailed has an executable with an inlined call and a library without names.
func detailed() *callgraph.Graph {
	app := &callgraph.Mapping{Start: 0x400000, Limit: 0x500000, Offset: 0x1000, File: "/usr/bin/app", BuildID: "abcd"}
	lib := &callgraph.Mapping{Start: 0x1000, Limit: 0x9000, File: "/usr/lib/libc.so.6", BuildID: "ef01"}
	kernel := &callgraph.Mapping{File: "[kernel]"}
	m := callgraph.NewMerger(1)
	process := m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process})
	thread := m.Frame(callgraph.Frame{Name: "worker", Kind: callgraph.Thread, Address: 42})
	outer := m.Frame(callgraph.Frame{Name: "outer", Kind: callgraph.User, Module: app.File, Mapping: app, Address: 0x400100, File: "/src/a.c", StartLine: 3, Line: 9})
	inner := m.Frame(callgraph.Frame{Name: "inner()", SystemName: "_Z5innerv", Kind: callgraph.User, Inlined: true, Module: app.File, Mapping: app, Address: 0x400100, File: "/src/b.h", StartLine: 1, Line: 2})
	unnamed := m.Frame(callgraph.Frame{Name: "[libc.so.6]+0x1234", Module: lib.File, Mapping: lib, Address: 0x2234})
	read := m.Frame(callgraph.Frame{Name: "ksys_read", Kind: callgraph.Kernel, Module: "[kernel]", Mapping: kernel, Address: 0xffffffff81000000})
	m.Add([]int32{process, thread, outer, inner, unnamed, read}, 0, 5)
	m.Add([]int32{process, outer, inner}, 0, 7)
	m.Add([]int32{process, outer}, 0, 1)
	m.Add([]int32{process}, 0, 2)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	g.PeriodType = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}
	g.Period = 10101010
	g.Meta.Start, g.Meta.Duration = stackgen.Start(), 30e9
	return g
}

func TestDetailedProfile(t *testing.T) {
	p := written(t, pprof.Options{Comments: []string{"made by a test"}}, detailed())
	assert.Equal(t, int64(15), total(p, 0))
	assert.Equal(t, "samples/count", p.SampleType[0].Type+"/"+p.SampleType[0].Unit)
	assert.Equal(t, "cpu/nanoseconds", p.PeriodType.Type+"/"+p.PeriodType.Unit)
	assert.Equal(t, int64(10101010), p.Period)
	assert.Equal(t, stackgen.Start().UnixNano(), p.TimeNanos)
	assert.Equal(t, int64(30e9), p.DurationNanos)
	assert.Equal(t, []string{"made by a test"}, p.Comments)

	require.Len(t, p.Mapping, 3)
	app, byFile := p.Mapping[0], map[string]*profile.Mapping{}
	for _, m := range p.Mapping {
		byFile[m.File] = m
	}
	assert.Equal(t, "/usr/bin/app", app.File, "the executable is first")
	assert.Equal(t, uint64(0x400000), app.Start)
	assert.Equal(t, uint64(0x500000), app.Limit)
	assert.Equal(t, uint64(0x1000), app.Offset)
	assert.Equal(t, "abcd", app.BuildID)
	assert.True(t, app.HasFunctions && app.HasFilenames && app.HasLineNumbers && app.HasInlineFrames)
	assert.True(t, byFile["[kernel]"].HasFunctions)
	assert.False(t, byFile["[kernel]"].HasInlineFrames)
	assert.False(t, byFile["/usr/lib/libc.so.6"].HasFunctions, "others may name it")

	for _, s := range p.Sample {
		if s.Value[0] != 5 {
			continue
		}
		assert.Equal(t, []string{"app"}, s.Label["process"])
		assert.Equal(t, []string{"worker"}, s.Label["thread"])
		assert.Equal(t, []int64{42}, s.NumLabel["thread_id"])
		require.Len(t, s.Location, 3, "an inlined call is a line, not a location")
		assert.Equal(t, "ksys_read", s.Location[0].Line[0].Function.Name)
		assert.Empty(t, s.Location[1].Line, "no name is made up")
		assert.Equal(t, uint64(0x2234), s.Location[1].Address)
		lines := s.Location[2].Line
		require.Len(t, lines, 2)
		assert.Equal(t, "inner()", lines[0].Function.Name)
		assert.Equal(t, "_Z5innerv", lines[0].Function.SystemName)
		assert.Equal(t, int64(2), lines[0].Line)
		assert.Equal(t, "outer", lines[1].Function.Name)
		assert.Equal(t, int64(3), lines[1].Function.StartLine)
	}
}

func TestIDsAreDense(t *testing.T) {
	p := written(t, pprof.Options{}, stackgen.New(500, 1).Graph())
	for i, m := range p.Mapping {
		assert.Equal(t, uint64(i+1), m.ID)
	}
	for i, f := range p.Function {
		assert.Equal(t, uint64(i+1), f.ID)
	}
	for i, l := range p.Location {
		assert.Equal(t, uint64(i+1), l.ID)
	}
}

func TestSeveralTypes(t *testing.T) {
	g, h := detailed(), detailed()
	h.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	p := written(t, pprof.Options{}, g, h)
	require.Len(t, p.SampleType, 2)
	assert.Equal(t, int64(15), total(p, 0))
	assert.Equal(t, int64(15), total(p, 1))
	assert.Len(t, p.Sample, len(written(t, pprof.Options{}, g).Sample), "equal stacks are one sample")
}

func TestEmpty(t *testing.T) {
	assert.Empty(t, written(t, pprof.Options{}).Sample)
	p := written(t, pprof.Options{}, callgraph.NewMerger(1).Graph())
	assert.Empty(t, p.Sample)
	assert.Equal(t, "samples", p.SampleType[0].Type)
}

func TestHostileStrings(t *testing.T) {
	bad := "a\xff;\n\x00<>\u202e"
	m := callgraph.NewMerger(1)
	mapping := &callgraph.Mapping{File: bad, BuildID: bad, Limit: 1}
	m.Add([]int32{
		m.Frame(callgraph.Frame{Name: bad, Kind: callgraph.Process}),
		m.Frame(callgraph.Frame{Name: bad, Kind: callgraph.Thread}),
		m.Frame(callgraph.Frame{Name: bad, Kind: callgraph.User, SystemName: bad, File: bad, Module: bad, Mapping: mapping, Address: 1 << 63}),
	}, 0, 3)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: bad, Unit: bad}
	p := written(t, pprof.Options{Comments: []string{bad}}, g)
	assert.Equal(t, int64(3), total(p, 0))
	assert.Equal(t, "a\ufffd;\n\x00<>\u202e", p.Function[0].Name)
}

func TestTwoFilesMerge(t *testing.T) {
	a, b := written(t, pprof.Options{}, detailed()), written(t, pprof.Options{}, detailed())
	merged, err := profile.Merge([]*profile.Profile{a, b})
	require.NoError(t, err)
	assert.Equal(t, int64(30), total(merged, 0))
}

func TestTotalsBeyondFloats(t *testing.T) {
	m := callgraph.NewMerger(1)
	m.Add([]int32{m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User})}, 0, 1<<53+1)
	assert.Equal(t, int64(1<<53+1), total(written(t, pprof.Options{}, m.Graph()), 0))
}

func TestDeterministic(t *testing.T) {
	var a, b bytes.Buffer
	require.NoError(t, pprof.Write(&a, []*callgraph.Graph{stackgen.New(500, 1).Graph()}, pprof.Options{}))
	require.NoError(t, pprof.Write(&b, []*callgraph.Graph{stackgen.New(500, 1).Graph()}, pprof.Options{}))
	assert.Equal(t, a.Bytes(), b.Bytes())
}

func TestGoToolPprof(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	require.NoError(t, pprof.Write(f, []*callgraph.Graph{detailed()}, pprof.Options{}))
	require.NoError(t, f.Close())
	for _, args := range [][]string{{"-top", "-symbolize=none"}, {"-top"}, {"-raw"}, {"-top", "-tagroot=process,thread"}} {
		cmd := exec.Command("go", append([]string{"tool", "pprof"}, append(args, path)...)...)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Contains(t, string(out), "ksys_read")
		assert.Contains(t, string(out), "inner()")
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := stackgen.New(n, 1).Graph()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				require.NoError(b, pprof.Write(&out, []*callgraph.Graph{g}, pprof.Options{}))
			}
			b.ReportMetric(float64(out.Len())/1e6, "MB")
		})
	}
}

func TestGolden(t *testing.T) {
	other := detailed()
	other.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	p := written(t, pprof.Options{Comments: []string{"made by a test"}}, detailed(), other)
	p.TimeNanos = 0 // would be printed in local time
	got := p.String()
	path := filepath.Join("testdata", "detailed.txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "go test -update makes it")
	assert.Equal(t, string(want), got)
}

// Addresses in one function without a name keep their addresses and are one
// function, which does not keep others from naming them.
func TestFunctionsWithoutName(t *testing.T) {
	lib := &callgraph.Mapping{Start: 0x1000, Limit: 0x9000, File: "/usr/bin/gzip", BuildID: "ef01"}
	m := callgraph.NewMerger(1)
	process := m.Frame(callgraph.Frame{Name: "gzip", Kind: callgraph.Process})
	for i := range uint64(3) { // the first is where the function begins
		m.Add([]int32{process, m.Frame(callgraph.Frame{Name: "[gzip]+0x200", Module: lib.File, Mapping: lib, Address: 0x1200 + 4*i})}, 0, 1)
	}
	p := written(t, pprof.Options{}, m.Graph())
	require.Len(t, p.Location, 3)
	require.Len(t, p.Function, 1)
	assert.Equal(t, "[gzip]+0x200", p.Function[0].Name)
	assert.False(t, p.Mapping[0].HasFunctions, "others may name it")
	addresses := map[uint64]int{}
	for _, l := range p.Location {
		addresses[l.Address] = len(l.Line)
	}
	assert.Equal(t, map[uint64]int{0x1200: 0, 0x1204: 1, 0x1208: 1}, addresses)
	res := read(t, encoded(t, m.Graph()), false)
	assert.Equal(t, "gzip;[gzip]+0x200 3\n", text(t, res.Graphs[0]))
	assert.InDelta(t, 1, res.Graphs[0].UnknownShare(0), 0)
	assert.Equal(t, encoded(t, m.Graph()), encoded(t, read(t, encoded(t, m.Graph()), true).Graphs...))
}
