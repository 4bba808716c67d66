package speedscope_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/speedscope"
)

var update = flag.Bool("update", false, "write the golden files")

// file is the part of the published schema that we use.
type file struct {
	Schema   string `json:"$schema"`
	Name     string `json:"name"`
	Exporter string `json:"exporter"`
	Active   int    `json:"activeProfileIndex"`
	Shared   struct {
		Frames []struct {
			Name string `json:"name"`
			File string `json:"file"`
			Line int64  `json:"line"`
			// Ours.
			Kind    string `json:"kind"`
			Inlined bool   `json:"inlined"`
			Module  string `json:"module"`
		} `json:"frames"`
	} `json:"shared"`
	Profiles []struct {
		Type       string  `json:"type"`
		Name       string  `json:"name"`
		Unit       string  `json:"unit"`
		StartValue int64   `json:"startValue"`
		EndValue   int64   `json:"endValue"`
		Samples    [][]int `json:"samples"`
		Weights    []int64 `json:"weights"`
	} `json:"profiles"`
}

// written checks what the viewer insists on.
func written(t testing.TB, opts speedscope.Options, graphs ...*callgraph.Graph) file {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, speedscope.Write(&b, graphs, opts))
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	var f file
	require.NoError(t, d.Decode(&f))
	require.Equal(t, "https://www.speedscope.app/file-format-schema.json", f.Schema)
	require.NotEmpty(t, f.Profiles)
	require.NotNil(t, f.Shared.Frames)
	for _, p := range f.Profiles {
		require.Equal(t, "sampled", p.Type)
		require.Contains(t, []string{"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}, p.Unit)
		require.NotNil(t, p.Samples)
		require.NotNil(t, p.Weights)
		require.Len(t, p.Weights, len(p.Samples))
		var sum int64
		for i, s := range p.Samples {
			sum += p.Weights[i]
			for _, frame := range s {
				require.Less(t, frame, len(f.Shared.Frames))
			}
		}
		require.Equal(t, sum, p.EndValue)
	}
	return f
}

func sample() *callgraph.Graph {
	m := callgraph.NewMerger(1)
	app := m.Frame(callgraph.Frame{Name: "nginx", Kind: callgraph.Process})
	main := m.Frame(callgraph.Frame{Name: "main", Kind: callgraph.User, Module: "/usr/sbin/nginx"})
	sort := m.Frame(callgraph.Frame{Name: "std::sort<int>", Kind: callgraph.User, Module: "/usr/sbin/nginx", File: "/src/sort.h", StartLine: 12})
	read := m.Frame(callgraph.Frame{Name: "ksys_read", Kind: callgraph.Kernel, Module: "[kernel]"})
	m.Add([]int32{app, main, sort, read}, 0, 3)
	m.Add([]int32{app, main, sort}, 0, 2)
	m.Add([]int32{app, main}, 0, 1<<53+1)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	return g
}

func TestGolden(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, speedscope.Write(&b, []*callgraph.Graph{sample()}, speedscope.Options{Exporter: "flametel"}))
	path := filepath.Join("testdata", "off_cpu.speedscope.json")
	if *update {
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
	written(t, speedscope.Options{}, sample())
}

func TestSeveralGraphsShareFrames(t *testing.T) {
	other := sample()
	other.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	f := written(t, speedscope.Options{Name: "both"}, sample(), other)
	require.Len(t, f.Profiles, 2)
	assert.Equal(t, "both", f.Name)
	assert.Equal(t, "off_cpu (nanoseconds)", f.Profiles[0].Name)
	assert.Equal(t, "nanoseconds", f.Profiles[0].Unit)
	assert.Equal(t, "none", f.Profiles[1].Unit)
	assert.Len(t, f.Shared.Frames, 4)
}

func TestEmpty(t *testing.T) {
	assert.Len(t, written(t, speedscope.Options{}).Profiles, 1)
	assert.Zero(t, written(t, speedscope.Options{}, callgraph.NewMerger(1).Graph()).Profiles[0].EndValue)
}

func TestFrameTableHasNoDuplicates(t *testing.T) {
	m := callgraph.NewMerger(1)
	// Types and addresses differ, but nothing that is written.
	a := m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User, Type: "native"})
	b := m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User, Type: "go", Address: 7})
	m.Add([]int32{a, b}, 0, 1)
	assert.Len(t, written(t, speedscope.Options{}, m.Graph()).Shared.Frames, 1)
}

func TestHostileStrings(t *testing.T) {
	bad := "a\xff;\n\x00<>\"\\\u2028\u202e"
	m := callgraph.NewMerger(1)
	m.Add([]int32{m.Frame(callgraph.Frame{Name: bad, Kind: callgraph.User, File: bad, Module: bad})}, 0, 3)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: bad, Unit: bad}
	f := written(t, speedscope.Options{Name: bad, Exporter: bad}, g)
	assert.Equal(t, "a\ufffd;\n\x00<>\"\\\u2028\u202e", f.Shared.Frames[0].Name)
	assert.Equal(t, int64(3), f.Profiles[0].EndValue)
}

func TestTotalsAgree(t *testing.T) {
	g := stackgen.New(2000, 1).Graph()
	assert.Equal(t, g.Total(0), written(t, speedscope.Options{}, g).Profiles[0].EndValue)
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := stackgen.New(n, 1).Graph()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				require.NoError(b, speedscope.Write(&out, []*callgraph.Graph{g}, speedscope.Options{}))
			}
			b.ReportMetric(float64(out.Len())/1e6, "MB")
		})
	}
}
