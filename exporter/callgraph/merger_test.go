package callgraph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
)

func TestMergerWithTwoWeights(t *testing.T) {
	m := callgraph.NewMerger(2)
	a := m.Frame(callgraph.Frame{Name: "a", Kind: callgraph.User})
	b := m.Frame(callgraph.Frame{Name: "b", Kind: callgraph.User})
	m.Add([]int32{a, b}, 0, 5)
	m.Add([]int32{a}, 1, 7)
	m.Add([]int32{a, a}, 0, 0)
	m.Add([]int32{a, a}, 0, -3)
	g := m.Graph()
	checkInvariants(t, g)
	assert.Equal(t, int64(5), g.Total(0))
	assert.Equal(t, int64(7), g.Total(1))
	assert.Equal(t, []int64{0, 0, 5}, g.Self[0])
	assert.Equal(t, []int64{0, 7, 0}, g.Self[1])
}

func TestEmptyGraph(t *testing.T) {
	g := callgraph.NewMerger(1).Graph()
	checkInvariants(t, g)
	assert.Len(t, g.Nodes, 1)
	assert.Zero(t, g.Total(0))
	assert.Zero(t, g.UnknownShare(0))
	assert.Equal(t, "samples", g.Name())
}

func TestRegroupMergesAndDrops(t *testing.T) {
	m := callgraph.NewMerger(1)
	frame := func(name, module string) int32 {
		return m.Frame(callgraph.Frame{Name: name, Kind: callgraph.User, Module: module})
	}
	app := m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process})
	worker := m.Frame(callgraph.Frame{Name: "worker", Kind: callgraph.Thread})
	m.Add([]int32{app, worker, frame("f", "a.so"), frame("g", "a.so")}, 0, 1)
	m.Add([]int32{app, worker, frame("f", "b.so"), frame("g", "b.so")}, 0, 2)
	m.Add([]int32{app, worker}, 0, 4)
	g := m.Graph()
	g.SampleType.Type = "x"
	g.Meta.Invalid = 9
	h := g.Regroup(func(f *callgraph.Frame) (callgraph.Frame, bool) {
		out := *f
		out.Module = ""
		return out, f.Kind != callgraph.Thread
	})
	checkInvariants(t, h)
	assert.Equal(t, []string{"app/process 4", "app/process;f/user;g/user 3"}, lines(h))
	assert.Equal(t, "x", h.SampleType.Type)
	assert.Equal(t, int64(9), h.Meta.Invalid)
}

func TestScale(t *testing.T) {
	m := callgraph.NewMerger(1)
	a, b := m.Frame(callgraph.Frame{Name: "a"}), m.Frame(callgraph.Frame{Name: "b"})
	m.Add([]int32{a}, 0, 5)
	m.Add([]int32{b}, 0, 7)
	m.Scale(100)
	assert.Equal(t, int64(1200), m.Graph().Total(0))
	assert.False(t, m.Saturated)
	m.Scale(math.MaxInt64)
	assert.Equal(t, int64(math.MaxInt64), m.Graph().Total(0))
	assert.True(t, m.Saturated)
}

func TestUnknownShare(t *testing.T) {
	m := callgraph.NewMerger(1)
	app := m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process})
	known := m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User})
	unknown := m.Frame(callgraph.Frame{Name: "[a.so]+0x10"})
	kernel := m.Frame(callgraph.Frame{Name: callgraph.NameUnknown, Kind: callgraph.Kernel})
	m.Add([]int32{app, known, unknown, kernel}, 0, 1)
	m.Add([]int32{app, known}, 0, 1)
	called := m.Frame(callgraph.Frame{Name: callgraph.NameUnknown, Kind: callgraph.JIT}) // so by its program
	m.Add([]int32{app, called}, 0, 1)
	assert.InDelta(t, 2.0/5, m.Graph().UnknownShare(0), 1e-12)
}

func TestKindsInWords(t *testing.T) {
	want := map[callgraph.Kind]string{
		callgraph.Unknown: "unknown", callgraph.Kernel: "kernel", callgraph.User: "user",
		callgraph.JIT: "JIT", callgraph.Process: "process", callgraph.Thread: "thread", 200: "unknown",
	}
	for k, word := range want {
		assert.Equal(t, word, k.String())
	}
}

func TestIsPlaceholder(t *testing.T) {
	for name, want := range map[string]bool{
		"[unknown]": true, "[truncated]": true, "[libc.so.6]+0x1f": true, "[vdso]+0x0": true,
		"[libc.so.6]": false, "[a]+0x": false, "[a]+0xZ": false, "f": false, "": false,
		"[a]+0x11111111111111111": false, "x[a]+0x1": false,
	} {
		assert.Equal(t, want, callgraph.IsPlaceholder(name), name)
	}
}

func BenchmarkBuilder(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		p := stackgen.New(n, 1).Profiles()
		b.Run(itoa(int64(n)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				builder := callgraph.NewBuilder(callgraph.Options{MaxBytes: 1 << 30})
				builder.Add(p)
				_ = builder.Graphs()
			}
		})
	}
}
