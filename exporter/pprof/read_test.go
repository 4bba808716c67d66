package pprof_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"runtime"
	runtimepprof "runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/pprof"
)

func unzip(t testing.TB, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	require.NoError(t, err)
	out, err := io.ReadAll(z)
	require.NoError(t, err)
	return out
}

// encoded is graphs as an uncompressed profile.
func encoded(t testing.TB, graphs ...*callgraph.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, pprof.Write(&b, graphs, pprof.Options{}))
	return unzip(t, b.Bytes())
}

func read(t testing.TB, data []byte, detail bool) *pprof.Result {
	t.Helper()
	require.True(t, pprof.Is(data))
	res, err := pprof.Read(data, pprof.ReadOptions{Detail: detail})
	require.NoError(t, err)
	return res
}

func text(t testing.TB, g *callgraph.Graph) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, folded.Write(&b, g, folded.Options{}))
	return b.String()
}

// What was written and read is written as the same bytes again: mappings, build
// IDs, inlined calls, lines, threads, types and period all survive.
func TestDetailedRoundTrip(t *testing.T) {
	other := detailed()
	other.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	first := encoded(t, detailed(), other)
	res := read(t, first, true)
	require.Len(t, res.Graphs, 2)
	assert.Equal(t, 0, res.Default)
	assert.Equal(t, first, encoded(t, res.Graphs...))
	for _, g := range res.Graphs {
		assert.Equal(t, int64(15), g.Total(0))
		assert.Equal(t, int64(10101010), g.Period)
		assert.Equal(t, stackgen.Start(), g.Meta.Start)
		assert.Equal(t, 30*time.Second, g.Meta.Duration)
	}
	assert.Equal(t, strings.Replace(text(t, detailed()), "app 2", "app;[unknown] 2", 1), text(t, res.Graphs[0]))
}

func TestRoundTripWithoutDetail(t *testing.T) {
	g := stackgen.New(2000, 1).Graph()
	data := encoded(t, g)
	for _, detail := range []bool{false, true} {
		res := read(t, data, detail)
		assert.Equal(t, g.Total(0), res.Graphs[0].Total(0))
		assert.Equal(t, data, encoded(t, res.Graphs[0]))
	}
}

func TestInlinedCallsWithoutAddresses(t *testing.T) {
	m := callgraph.NewMerger(1)
	m.Add([]int32{
		m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process}),
		m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User, Module: "/bin/app"}),
		m.Frame(callgraph.Frame{Name: "g", Kind: callgraph.User, Module: "/bin/app", Inlined: true}),
	}, 0, 3)
	assert.Equal(t, "app;f;g_[i] 3\n", text(t, read(t, encoded(t, m.Graph()), false).Graphs[0]))
}

// Profiles of Go's own runtime, as any Go program serves them.
func TestGoProfiles(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, runtimepprof.Lookup("goroutine").WriteTo(&b, 0))
	g := read(t, unzip(t, b.Bytes()), true).Graphs[0]
	assert.GreaterOrEqual(t, g.Total(0), int64(2))
	assert.Contains(t, text(t, g), "testing.tRunner;")

	keep := make([][]byte, 0, 200)
	for range 200 {
		keep = append(keep, make([]byte, 1<<20))
	}
	runtime.GC()
	b.Reset()
	require.NoError(t, runtimepprof.Lookup("heap").WriteTo(&b, 0))
	runtime.KeepAlive(keep)
	heap := read(t, unzip(t, b.Bytes()), true)
	require.Len(t, heap.Graphs, 4)
	assert.Equal(t, "inuse_space", heap.Graphs[heap.Default].Name())
	p, err := profile.ParseData(b.Bytes())
	require.NoError(t, err)
	for i, g := range heap.Graphs {
		assert.Equal(t, total(p, i), g.Total(0), g.Name())
		assert.LessOrEqual(t, g.Meta.Records, g.Total(0), g.Name())
	}
	assert.Contains(t, text(t, heap.Graphs[heap.Default]), "TestGoProfiles ")
}

func TestGoCPUProfile(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, runtimepprof.StartCPUProfile(&b))
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		spin()
	}
	runtimepprof.StopCPUProfile()
	res := read(t, unzip(t, b.Bytes()), true)
	p, err := profile.ParseData(b.Bytes())
	require.NoError(t, err)
	require.Len(t, res.Graphs, 2)
	cpu := res.Graphs[res.Default]
	assert.Equal(t, "cpu/nanoseconds", cpu.SampleType.Type+"/"+cpu.SampleType.Unit)
	assert.Equal(t, total(p, 1), cpu.Total(0))
	assert.Equal(t, total(p, 0), cpu.Meta.Records)
	assert.Equal(t, int64(10_000_000), cpu.Period)
}

//go:noinline
func spin() {
	for range 1_000_000 {
		_ = 0
	}
}

func TestUnnamedAndGeneratedCode(t *testing.T) {
	lib := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x9000, Offset: 0x200, File: "/usr/lib/libx.so"}
	anon := &profile.Mapping{ID: 2, Start: 0x10000, Limit: 0x20000, File: "//anon"}
	fn := &profile.Function{ID: 1, Name: "Foo.bar"}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}},
		Mapping:    []*profile.Mapping{lib, anon},
		Function:   []*profile.Function{fn},
		Location: []*profile.Location{
			{ID: 1, Mapping: lib, Address: 0x1234}, {ID: 2, Mapping: anon, Address: 0x10001, Line: []profile.Line{{Function: fn}}}, {ID: 3},
		},
	}
	p.Sample = []*profile.Sample{{
		Location: []*profile.Location{p.Location[2], p.Location[0], p.Location[1]}, Value: []int64{4},
		Label: map[string][]string{"comm": {"java"}, "thread_name": {"pool"}},
	}, {Location: []*profile.Location{p.Location[0]}, Value: []int64{-9}}}
	var b bytes.Buffer
	require.NoError(t, p.WriteUncompressed(&b))
	res := read(t, b.Bytes(), false)
	assert.Equal(t, "java;Foo.bar_[j];[libx.so]+0x434;[unknown] 4\n", text(t, res.Graphs[0]))
	assert.Equal(t, int64(1), res.Graphs[0].Meta.Invalid)
	assert.Equal(t, "java;pool;Foo.bar_[j];[libx.so]+0x434;[unknown] 4\n", text(t, read(t, b.Bytes(), true).Graphs[0]))
}

func TestReadRefuses(t *testing.T) {
	good := encoded(t, detailed())
	tests := []struct {
		name string
		data []byte
		err  string
	}{
		{"empty", nil, "damaged"},
		{"text", []byte("a;b 1\n"), "no protobuf message"},
		{"cut", good[:len(good)-3], "no protobuf message"},
		{"no type", []byte{0x32, 0}, "no sample type"},
		{"many messages", bytes.Repeat([]byte{0x12, 0}, 20_000_001), "more than 20000000 messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := pprof.Read(tt.data, pprof.ReadOptions{})
			require.ErrorContains(t, err, tt.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	assert.False(t, pprof.Is([]byte("a;b 1\n")))
	assert.False(t, pprof.Is(nil))
}

// A location of many lines that a sample names many times must not take memory
// or time that the size of the file does not suggest.
func TestExpansionIsBounded(t *testing.T) {
	var line, loc, sample, p []byte
	line = []byte{0x08, 1}
	loc = []byte{0x08, 1}
	for range 100_000 {
		loc = append(append(loc, 0x22, byte(len(line))), line...)
	}
	ids := bytes.Repeat([]byte{1}, 100_000)
	sample = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(ids))), ids...)
	sample = append(sample, 0x12, 1, 1)
	field := func(tag byte, body []byte) {
		p = append(binary.AppendUvarint(append(p, tag), uint64(len(body))), body...)
	}
	field(0x0a, []byte{0x08, 1})
	field(0x22, loc)
	field(0x2a, []byte{0x08, 1, 0x10, 1})
	field(0x32, nil)
	field(0x32, []byte("f"))
	field(0x12, sample)
	_, err := pprof.Read(p, pprof.ReadOptions{})
	assert.ErrorContains(t, err, "more than 268435456 frames")
}

func TestDeepStack(t *testing.T) {
	m := callgraph.NewMerger(1)
	var stack []int32
	for range 10_000 {
		stack = append(stack, m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User}))
	}
	m.Add(stack, 0, 5)
	g := read(t, encoded(t, m.Graph()), false).Graphs[0]
	assert.Len(t, g.Nodes, 10_001)

	for range 130_000 {
		stack = append(stack, stack[0])
	}
	m = callgraph.NewMerger(1)
	m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User})
	m.Add(stack, 0, 5)
	g = read(t, encoded(t, m.Graph()), false).Graphs[0]
	assert.Len(t, g.Nodes, callgraph.MaxDepth+1)
	assert.Equal(t, callgraph.NameTruncated, g.Frames[g.Nodes[1].Frame].Name)
	assert.Equal(t, int64(5), g.Total(0))
}

func FuzzRead(f *testing.F) {
	f.Add(encoded(f, detailed()))
	f.Add([]byte{0x0a, 0, 0x32, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, detail := range []bool{false, true} {
			res, err := pprof.Read(data, pprof.ReadOptions{Detail: detail})
			if err != nil {
				return
			}
			again := read(t, encoded(t, res.Graphs...), detail)
			for i, g := range res.Graphs {
				require.Equal(t, g.Total(0), again.Graphs[i].Total(0))
			}
		}
	})
}

func TestSeveralKindsOfSamplesHaveNames(t *testing.T) {
	g, h := detailed(), detailed()
	g.PeriodType, h.PeriodType = callgraph.ValueType{Type: "cycles", Unit: "count"}, callgraph.ValueType{Type: "faults", Unit: "count"}
	g.Period, h.Period = 0, 0
	res := read(t, encoded(t, g, h), false)
	assert.Equal(t, "cycles", res.Graphs[0].Name())
	assert.Equal(t, "faults", res.Graphs[1].Name())
}
