package callgraph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
)

// graphOf makes a graph of lines such as "app;main;f 12". The first frame is a
// process, but for a line that begins with a semicolon.
func graphOf(t *testing.T, lines ...string) *callgraph.Graph {
	t.Helper()
	m := callgraph.NewMerger(1)
	for _, line := range lines {
		i := strings.LastIndexByte(line, ' ')
		var stack []int32
		for j, name := range strings.Split(line[:i], ";") {
			f := callgraph.Frame{Name: name, Kind: callgraph.User}
			if j == 0 {
				f.Kind = callgraph.Process
			}
			if name != "" {
				stack = append(stack, m.Frame(f))
			}
		}
		var v int64
		_, err := fmt.Sscan(line[i+1:], &v)
		require.NoError(t, err)
		m.Add(stack, 0, v)
	}
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	return g
}

// both renders the nodes of a comparison with their inclusive weights.
func both(c *callgraph.Comparison) []string {
	var out, path []string
	depths := c.Graph.Depths()
	b, a := c.Graph.Totals(callgraph.Before), c.Graph.Totals(callgraph.After)
	for i, n := range c.Graph.Nodes {
		if i > 0 {
			path = append(path[:depths[i]-1], c.Graph.Frames[n.Frame].Name)
			out = append(out, fmt.Sprintf("%s %d %d", strings.Join(path, ";"), b[i], a[i]))
		}
	}
	return out
}

func TestCompareMergesBothSides(t *testing.T) {
	c := callgraph.Compare(
		graphOf(t, "app;main;f 60", "app;main;gone 40"),
		graphOf(t, "app;main;f 20", "app;main;fresh 30"), callgraph.CompareOptions{})
	checkInvariants(t, c.Graph)
	assert.Equal(t, []string{
		"app 100 50", "app;main 100 50", "app;main;f 60 20", "app;main;fresh 0 30", "app;main;gone 40 0",
	}, both(c))
	assert.Equal(t, "before", c.Sides[0].Label)
	assert.Equal(t, int64(100), c.Sides[0].Total)
	assert.Equal(t, int64(50), c.Sides[1].Samples)
	f := c.Change(60, 20)
	assert.InDelta(t, -0.2, f.Delta(), 1e-12)
	assert.True(t, f.Significant)
	assert.True(t, c.Change(0, 30).New() && !c.Change(0, 30).Gone())
	assert.True(t, c.Change(40, 0).Gone())
}

// Red is more in the second profile, however the totals are.
func TestSignOfChanges(t *testing.T) {
	a, b := graphOf(t, "app;f 500", "app;g 500"), graphOf(t, "app;f 1500", "app;g 500")
	for _, raw := range []bool{false, true} {
		c := callgraph.Compare(a, b, callgraph.CompareOptions{Raw: raw})
		more := c.Change(500, 1500)
		assert.Positive(t, more.Delta())
		assert.Positive(t, more.Z)
		assert.True(t, more.Significant)
		less := c.Swapped().Change(1500, 500)
		assert.InDelta(t, -more.Delta(), less.Delta(), 1e-12)
		assert.InDelta(t, -more.Z, less.Z, 1e-9)
	}
	c := callgraph.Compare(a, b, callgraph.CompareOptions{})
	assert.Negative(t, c.Change(500, 500).Delta(), "the same count of more samples is a smaller share")
	raw := callgraph.Compare(a, b, callgraph.CompareOptions{Raw: true})
	assert.Zero(t, raw.Change(500, 500).Delta())
	assert.False(t, raw.Change(500, 500).Significant)
}

func TestEqualProfilesAreNeutral(t *testing.T) {
	g := stackgen.New(300, 1).Graph()
	for _, raw := range []bool{false, true} {
		c := callgraph.Compare(g, g, callgraph.CompareOptions{Raw: raw})
		assert.Empty(t, c.Movers())
		assert.Empty(t, c.Grown(0))
		for i, v := range c.Graph.Totals(callgraph.Before) {
			ch := c.Change(v, c.Graph.Totals(callgraph.After)[i])
			require.Zero(t, ch.Delta())
			require.False(t, ch.Significant)
		}
	}
}

// In comparisons of samples of one program a part changes significantly once in
// twenty times, not more.
func TestNoiseIsWhite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() *callgraph.Graph {
		counts := map[string]int{}
		for range 2000 {
			counts[fmt.Sprintf("app;main;f%d", rng.IntN(20))]++
		}
		var lines []string
		for name, n := range counts {
			lines = append(lines, fmt.Sprintf("%s %d", name, n))
		}
		return graphOf(t, lines...)
	}
	var all, significant int
	for range 100 {
		c := callgraph.Compare(draw(), draw(), callgraph.CompareOptions{})
		for i, v := range c.Graph.Self[callgraph.Before] {
			if v > 0 {
				all++
				if c.Change(v, c.Graph.Self[callgraph.After][i]).Significant {
					significant++
				}
			}
		}
	}
	assert.InDelta(t, 0.05, float64(significant)/float64(all), 0.02)
}

func TestEmptySides(t *testing.T) {
	none, some := callgraph.NewMerger(1).Graph(), graphOf(t, "app;f 3", "app;g 1")
	tests := []struct {
		name          string
		before, after *callgraph.Graph
		delta         float64
	}{
		{"before", none, some, 1}, {"after", some, none, -1}, {"both", none, none, 0},
	}
	for _, tt := range tests {
		for _, raw := range []bool{false, true} {
			c := callgraph.Compare(tt.before, tt.after, callgraph.CompareOptions{Raw: raw})
			ch := c.Change(c.Sides[0].Total, c.Sides[1].Total)
			assert.InDelta(t, tt.delta, ch.Delta(), 0, tt.name)
			assert.Equal(t, tt.delta != 0, ch.Significant)
			for _, m := range c.Movers() {
				for _, v := range []float64{m.Total.Z, m.Self.Z, m.Total.Delta(), m.Self.Delta()} {
					assert.False(t, math.IsNaN(v) || math.IsInf(v, 0))
				}
			}
			for _, w := range c.Widths(true) {
				assert.False(t, math.IsNaN(w) || math.IsInf(w, 0))
			}
		}
	}
	assert.Len(t, callgraph.Compare(none, some, callgraph.CompareOptions{}).Movers(), 2)
}

func TestWidths(t *testing.T) {
	c := callgraph.Compare(
		graphOf(t, "app;f 60", "app;gone 30", "app;gone;deep 10"),
		graphOf(t, "app;f 20", "app;g 5"), callgraph.CompareOptions{})
	names := func(c *callgraph.Comparison, elided bool) map[string]float64 {
		out, w := map[string]float64{}, c.Widths(elided)
		for i, n := range c.Graph.Nodes {
			if i > 0 {
				out[c.Graph.Frames[n.Frame].Name] = w[i]
			}
		}
		return out
	}
	assert.Equal(t, map[string]float64{"app": 0, "f": 0.8, "g": 0.2, "gone": 0, "deep": 0}, names(c, false))
	assert.Equal(t, map[string]float64{"app": 0, "f": 0.8, "g": 0.2, "gone": 0.3, "deep": 0.1}, names(c, true))
	all := callgraph.Compare(graphOf(t, "app;f 60", "app;gone 30", "app;gone;deep 10"), callgraph.NewMerger(1).Graph(), callgraph.CompareOptions{})
	assert.Equal(t, map[string]float64{"app": 0, "f": 0.6, "gone": 0.3, "deep": 0.1}, names(all, false))
}

// A rebuild changes addresses, suffixes and what is inlined, but not the graph.
func TestRebuildsMatch(t *testing.T) {
	build := func(offset int, hash string, inlined bool) *callgraph.Graph {
		m := callgraph.NewMerger(1)
		add := func(v int64, frames ...callgraph.Frame) {
			var ids []int32
			for _, f := range frames {
				ids = append(ids, m.Frame(f))
			}
			m.Add(ids, 0, v)
		}
		app := callgraph.Frame{Name: "app", Kind: callgraph.Process}
		worker := callgraph.Frame{Name: fmt.Sprint("worker-", offset), Kind: callgraph.Thread}
		main := callgraph.Frame{Name: "main", Kind: callgraph.User, File: "main.c", StartLine: int64(offset)}
		unknown := callgraph.Frame{Name: fmt.Sprintf("[libx.so]+%#x", offset)}
		again := callgraph.Frame{Name: fmt.Sprintf("[libx.so]+%#x", offset+64)}
		add(5, app, worker, main, callgraph.Frame{Name: "f.constprop." + fmt.Sprint(offset%3), Kind: callgraph.User, Inlined: inlined})
		add(7, app, worker, main, callgraph.Frame{Name: "core::g::" + hash, Kind: callgraph.User})
		if inlined {
			add(9, app, worker, main, unknown)
		} else {
			add(9, app, worker, main, unknown, again)
		}
		return m.Graph()
	}
	a, b := build(0x100, "h0123456789abcdef", true), build(0x2f0, "hfedcba9876543210", false)
	c := callgraph.Compare(a, b, callgraph.CompareOptions{})
	assert.Equal(t, []string{
		"app 21 21", "app;main 21 21", "app;main;[libx.so] 9 9", "app;main;core::g 7 7", "app;main;f 5 5",
	}, both(c))
	assert.Empty(t, c.Movers())
	assert.NotEmpty(t, callgraph.Compare(a, b, callgraph.CompareOptions{ExactNames: true}).Movers())
}

func TestProcessesOnOneSideOnly(t *testing.T) {
	c := callgraph.Compare(graphOf(t, "app;main;f 5"), graphOf(t, ";main;f 5"), callgraph.CompareOptions{})
	assert.Equal(t, []string{"main 5 5", "main;f 5 5"}, both(c))
}

// A name in several modules is placed where most of it is, whichever comes first.
func TestSharedNamesArePlacedWhereMostIs(t *testing.T) {
	build := func(work map[string]int64) *callgraph.Graph {
		m := callgraph.NewMerger(1)
		for module, n := range work {
			m.Add([]int32{m.Frame(callgraph.Frame{Name: "work", Kind: callgraph.User, Module: module, File: module + ".c"})}, 0, n)
		}
		m.Add([]int32{m.Frame(callgraph.Frame{Name: "rest", Kind: callgraph.User})}, 0, 1000)
		return m.Graph()
	}
	tests := []struct {
		name          string
		before, after map[string]int64
		module, file  string
	}{
		{"less in the larger", map[string]int64{"/l/liba.so": 10, "/l/libz.so": 990}, map[string]int64{"/l/liba.so": 10, "/l/libz.so": 200}, "/l/libz.so and 1 more", "/l/libz.so.c"},
		{"gone in the larger", map[string]int64{"/l/liba.so": 10, "/l/libz.so": 990}, map[string]int64{"/l/liba.so": 10}, "/l/libz.so and 1 more", "/l/libz.so.c"},
		{"three", map[string]int64{"a": 10, "b": 40, "c": 5}, map[string]int64{"a": 10}, "b and 2 more", "b.c"},
		{"as many", map[string]int64{"b": 10, "a": 10}, map[string]int64{"a": 10, "b": 10}, "a and 1 more", "a.c"},
		{"renamed by a rebuild", map[string]int64{"/old/app-1": 90}, map[string]int64{"/new/app-2": 10}, "/new/app-2", "/new/app-2.c"},
		{"moved", map[string]int64{"/old/app": 90}, map[string]int64{"/new/app": 10}, "/new/app", "/new/app.c"},
		{"with and without path", map[string]int64{"/usr/lib/libc.so.6": 90, "libc.so.6 (deleted)": 1}, map[string]int64{"libc.so.6": 10}, "libc.so.6", "libc.so.6.c"},
		{"names of one kernel", map[string]int64{"[kernel]": 90}, map[string]int64{"[kernel.kallsyms]": 10, "vmlinux": 3}, "[kernel.kallsyms]", "[kernel.kallsyms].c"},
		{"none on one side", map[string]int64{"": 90}, map[string]int64{"b": 10}, "b", "b.c"},
		{"compared before", map[string]int64{"b and 1 more": 90, "a": 1}, map[string]int64{"b": 10, "a": 2}, "b and 1 more", "b.c"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := callgraph.Compare(build(tt.before), build(tt.after), callgraph.CompareOptions{})
			require.Len(t, c.Graph.Frames, 2)
			f := c.Graph.Frames[1]
			assert.Equal(t, "work", f.Name)
			assert.Equal(t, tt.module, f.Module)
			assert.Equal(t, tt.file, f.File)
		})
	}
}

func TestMoversRankWhereItChanged(t *testing.T) {
	c := callgraph.Compare(
		graphOf(t, "app;main;serve;parse 100", "app;main;serve;send 900"),
		graphOf(t, "app;main;serve;parse 400", "app;main;serve;send 597", "app;main;serve;send;log 3"), callgraph.CompareOptions{})
	var names []string
	for _, m := range c.Movers() {
		names = append(names, m.Frame.Name)
	}
	assert.Equal(t, []string{"send", "parse", "log"}, names)
	grown := c.Grown(0.05)
	require.Len(t, grown, 1)
	assert.Equal(t, "parse", grown[0].Frame.Name)
	assert.Empty(t, c.Grown(0.3))
}

func TestByFrameCountsRecursionOnce(t *testing.T) {
	g := graphOf(t, "app;f;g;f 3", "app;f 2", "app;g;f;f 4")
	total, self := g.ByFrame(0)
	byName := map[string][2]int64{}
	for i, f := range g.Frames {
		byName[f.Name] = [2]int64{total[i], self[i]}
	}
	assert.Equal(t, map[string][2]int64{"app": {9, 0}, "f": {9, 9}, "g": {7, 0}}, byName)
}

// Weights that are not counts stand for fewer samples than they are large.
func TestSamplesBehindWeights(t *testing.T) {
	g := graphOf(t, "app;f 4000000")
	g.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	g.Meta.Records = 4
	assert.Equal(t, int64(4), callgraph.Compare(g, g, callgraph.CompareOptions{}).Sides[0].Samples)
	g.PeriodType, g.Period = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}, 10_000
	assert.Equal(t, int64(400), callgraph.Compare(g, g, callgraph.CompareOptions{}).Sides[0].Samples)
}

func TestComparisonConservesTotals(t *testing.T) {
	for seed := range uint64(20) {
		a, b := stackgen.New(200, seed).Graph(), stackgen.New(150, seed+100).Graph()
		c := callgraph.Compare(a, b, callgraph.CompareOptions{})
		checkInvariants(t, c.Graph)
		require.Equal(t, a.Total(0), c.Graph.Total(callgraph.Before))
		require.Equal(t, b.Total(0), c.Graph.Total(callgraph.After))
		s := c.Swapped().Swapped()
		require.Equal(t, c, s)
	}
}

func TestNormalName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"foo", "foo"},
		{"foo.constprop.0", "foo"},
		{"foo.isra.0.part.3.cold", "foo"},
		{"foo.part.0.constprop.1", "foo"},
		{"foo.llvm.1234567890", "foo"},
		{"foo.__uniq.42.llvm.7", "foo"},
		{"foo.lto_priv.0", "foo"},
		{"foo(int) [clone .isra.0] [clone .cold]", "foo(int)"},
		{"foo(int) (.constprop.0)", "foo(int)"},
		{"core::fmt::write::h0123456789abcdef", "core::fmt::write"},
		{"core::hash::hasher", "core::hash::hasher"},
		{"main.(*T).Run.func1", "main.(*T).Run.func1"},
		{"LazyCompile:*parse /a.js:1:2", "LazyCompile:parse /a.js:1:2"},
		{"LazyCompile:~parse /a.js:1:2", "LazyCompile:parse /a.js:1:2"},
		{"JS:^f", "JS:f"},
		{"System.String.Concat[OptimizedTier1]", "System.String.Concat"},
		{"Foo$$Lambda$14/0x00007f1234.run", "Foo$$Lambda.run"},
		{"Foo$$Lambda.0x00007f.run", "Foo$$Lambda.run"},
		{"java/lang/invoke/LambdaForm$MH/0x0008.invoke", "java/lang/invoke/LambdaForm$MH.invoke"},
		{"jdk/internal/reflect/GeneratedMethodAccessor12.invoke", "jdk/internal/reflect/GeneratedMethodAccessor.invoke"},
		{"bpf_prog_6deef7357e7b4530_sd_fw", "bpf_prog_sd_fw"},
		{"main+0x1f", "main"},
		{"[libc.so.6]+0x1f", "[libc.so.6]"},
		{"[libc.so.6]", "[libc.so.6]"},
		{"[libx.so (deleted)]+0x10", "[libx.so]"},
		{"[perf-12.map]", "[anon]"},
		{"[perf-12.map]+0x1f", "[anon]"},
		{"[perf.map]", "[anon]"},
		{"[jitted-12-3.so]", "[jitted.so]"},
		{"[anon]+0x1f", "[anon]"},
		{"slices.partitionOrdered[go.shape.int]", "slices.partitionOrdered[...]"},
		{"main.(*T[go.shape.[]uint8]).M", "main.(*T[...]).M"},
		{"main.F[go.shape.map[string]int,go.shape.struct { a []int }].func1", "main.F[...].func1"},
		{"main.F[...].func1", "main.F[...].func1"},
		{"f[int]", "f[int]"},
		{"0x7f0012345678", "[unknown]"},
		{"[unknown] 0x7f00", "[unknown]"},
		{"ffffffff81000000", "[unknown]"},
		{"deadbeef", "deadbeef"},
		{"[unknown]", "[unknown]"},
		{"[truncated]", "[truncated]"},
		{".cold", ".cold"},
		{"operator+", "operator+"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, callgraph.NormalName(&callgraph.Frame{Name: tt.in, Kind: callgraph.User}), tt.in)
	}
	for in, want := range map[string]string{
		"kworker/u8:3-events_unbound": "kworker", "worker-12": "worker", "ksoftirqd/1": "ksoftirqd",
		"app-1234/1235": "app", "python3.11": "python3.11", "42": "42", "nginx": "nginx", "pool-1-thread-2": "pool-1-thread",
	} {
		assert.Equal(t, want, callgraph.NormalName(&callgraph.Frame{Name: in, Kind: callgraph.Process}), in)
	}
	at := &callgraph.Frame{Name: "0x1234", Kind: callgraph.User, Module: "/usr/lib/libx.so"}
	assert.Equal(t, "[libx.so]", callgraph.NormalName(at))
}

func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		before, after := stackgen.New(n, 1).Graph(), stackgen.New(n, 2).Graph()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = callgraph.Compare(before, after, callgraph.CompareOptions{}).Movers()
			}
		})
	}
}

// What has a normal name can be compared again.
func FuzzNormalName(f *testing.F) {
	for _, name := range []string{"f.cold+0x1f", "f (.isra.0)[Tier0]", "[a (deleted) (deleted)]+0x1", "0x7f00", "LazyCompile:**f", "w-1-2", "", "x::h0123456789abcdef.llvm.1", "F[go.shape.int]+0x1f", "[perf-1.map (deleted)]+0x1"} {
		f.Add(name, "", uint8(callgraph.User))
		f.Add(name, "/usr/lib/x.so", uint8(callgraph.Process))
	}
	f.Fuzz(func(t *testing.T, name, module string, kind uint8) {
		frame := callgraph.Frame{Name: name, Module: module, Kind: callgraph.Kind(kind % 6)}
		once := callgraph.NormalName(&frame)
		frame.Name = once
		if twice := callgraph.NormalName(&frame); twice != once {
			t.Fatalf("%q: %q, then %q", name, once, twice)
		}
		if name != "" && once == "" {
			t.Fatalf("%q: no name is left", name)
		}
	})
}
