package callgraph_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
)

// lines renders a graph as one text line for each node with a weight of its own.
func lines(g *callgraph.Graph) []string {
	var out []string
	var path []string
	depths := g.Depths()
	for i, n := range g.Nodes {
		if i > 0 {
			f := g.Frames[n.Frame]
			text := f.Name + "/" + f.Kind.String()
			if f.Inlined {
				text += "/inlined"
			}
			path = append(path[:depths[i]-1], text)
		}
		for w := range g.Self {
			if v := g.Self[w][i]; v != 0 {
				out = append(out, strings.Join(path, ";")+" "+itoa(v))
			}
		}
	}
	return out
}

func one(t *testing.T, p pprofile.Profiles, opts callgraph.Options) *callgraph.Graph {
	t.Helper()
	b := callgraph.NewBuilder(opts)
	b.Add(p)
	graphs := b.Graphs()
	require.Len(t, graphs, 1)
	checkInvariants(t, graphs[0])
	return graphs[0]
}

func TestSampleShapes(t *testing.T) {
	tests := []struct {
		name       string
		values     []int64
		timestamps []uint64
		want       int64
		invalid    int64
	}{
		{name: "values only", values: []int64{7}, want: 7},
		{name: "timestamps only count one each", timestamps: []uint64{5, 6, 7}, want: 3},
		{name: "values and timestamps", values: []int64{10, 20}, timestamps: []uint64{5, 6}, want: 30},
		{name: "zero adds nothing", values: []int64{0}},
		{name: "neither is malformed", invalid: 1},
		{name: "negative is malformed", values: []int64{5, -1}, invalid: 1},
		{name: "sum beyond int64 is cut", values: []int64{math.MaxInt64, 5}, want: math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMessage()
			s := m.profile("app").Samples().AppendEmpty()
			s.SetStackIndex(m.stack(m.location(0, 0, m.function("main"))))
			s.Values().FromRaw(tt.values)
			s.TimestampsUnixNano().FromRaw(tt.timestamps)
			g := one(t, m.Profiles, callgraph.Options{})
			assert.Equal(t, tt.want, g.Total(0))
			assert.Equal(t, tt.invalid, g.Meta.Invalid)
		})
	}
}

func TestFramesOfLocations(t *testing.T) {
	tests := []struct {
		name  string
		build func(m *message) int32 // returns a location
		want  string
	}{
		{"native", func(m *message) int32 { return m.location(m.mapping("/bin/app"), 1, m.function("f"), "native") }, "f/user"},
		{"go", func(m *message) int32 { return m.location(m.mapping("/bin/app"), 1, m.function("main.f"), "go") }, "main.f/user"},
		{"kernel", func(m *message) int32 { return m.location(m.mapping("[kernel]"), 1, m.function("vfs_read"), "kernel") }, "vfs_read/kernel"},
		{"runtime", func(m *message) int32 {
			return m.location(m.mapping("[anon]"), 1, m.function("LazyCompile:~f"), "v8js")
		}, "LazyCompile:~f/JIT"},
		{"unknown runtime of the future", func(m *message) int32 { return m.location(0, 1, m.function("f"), "wasm") }, "f/JIT"},
		{"no type, kernel mapping", func(m *message) int32 { return m.location(m.mapping("[kernel.kallsyms]"), 1, m.function("do_idle")) }, "do_idle/kernel"},
		{"no type", func(m *message) int32 { return m.location(m.mapping("/bin/app"), 1, m.function("f")) }, "f/user"},
		{"no mapping", func(m *message) int32 { return m.location(0, 1, m.function("f")) }, "f/user"},
		{"unnamed in a file", func(m *message) int32 { return m.location(m.mapping("/usr/lib/libc.so.6"), 0x1234) }, "[libc.so.6]+0x2234/unknown"},
		{"unnamed outside its mapping", func(m *message) int32 { return m.location(m.mapping("/usr/lib/libc.so.6"), 0x77777777) }, "[libc.so.6]+0x77777777/unknown"},
		{"unnamed in a known function", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x1234, 0x1200) }, "[gzip]+0x2200/unknown"},
		{"at the start of a known function", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x1200, 0x1200) }, "[gzip]+0x2200/unknown"},
		{"in a function after it", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x1234, 0x1235) }, "[gzip]+0x2234/unknown"},
		{"in a function outside the mapping", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x1234, 0xfff) }, "[gzip]+0x2234/unknown"},
		{"outside the mapping of its function", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x77777777, 0x1200) }, "[gzip]+0x77777777/unknown"},
		{"in a negative function", func(m *message) int32 { return m.within(m.mapping("/usr/bin/gzip"), 0x1234, -1) }, "[gzip]+0x2234/unknown"},
		{"in a function without mapping", func(m *message) int32 { return m.within(0, 0x1234, 0x1200) }, "[unknown]/unknown"},
		{"named in a known function", func(m *message) int32 {
			i := m.location(m.mapping("/usr/bin/gzip"), 0x1234, m.function("deflate"), "native")
			m.LocationTable().At(int(i)).AttributeIndices().Append(m.intAttribute("flametel.function.address", 0x1200))
			return i
		}, "deflate/user"},
		{"unnamed in memory", func(m *message) int32 { return m.location(m.mapping("[anon]"), 0x1234, "jit") }, "[anon]+0x2234/unknown"},
		{"unnamed in the kernel", func(m *message) int32 { return m.location(m.mapping("[kernel]"), 0x1234, "kernel") }, "[unknown]/kernel"},
		{"unnamed in a kernel module", func(m *message) int32 { return m.location(m.mapping("[ext4]"), 0x1234, "kernel") }, "[ext4]+0x2234/kernel"},
		{"unnamed without mapping", func(m *message) int32 { return m.location(0, 0x1234) }, "[unknown]/unknown"},
		{"empty name", func(m *message) int32 { return m.location(m.mapping("/bin/app"), 0x1234, m.function("")) }, "[app]+0x2234/unknown"},
		{"truncated", func(m *message) int32 { return m.location(0, 0, m.function("[truncated]")) }, "[truncated]/unknown"},
		{"unknown by name", func(m *message) int32 { return m.location(0, 0, m.function("[unknown]")) }, "[unknown]/unknown"},
		{"function called truncated", func(m *message) int32 {
			return m.location(m.mapping("[anon]"), 1, m.function("[truncated]"), "jit")
		}, "[truncated]/JIT"},
		{"function called unknown", func(m *message) int32 { return m.location(0, 1, m.function("[unknown]"), "v8js") }, "[unknown]/JIT"},
		{"function called by an offset", func(m *message) int32 {
			return m.location(m.mapping("/bin/app"), 1, m.function("[libc.so.6]+0x10"), "native")
		}, "[libc.so.6]+0x10/user"},
		{"inlined", func(m *message) int32 {
			return m.location(m.mapping("/bin/app"), 1, m.function("inner"), m.function("middle"), m.function("outer"), "native")
		}, "outer/user;middle/user/inlined;inner/user/inlined"},
		{"zero location", func(*message) int32 { return 0 }, "[unknown]/unknown"},
		{"location that does not exist", func(*message) int32 { return 99 }, "[unknown]/unknown"},
		{"negative location", func(*message) int32 { return -1 }, "[unknown]/unknown"},
		{"mapping that does not exist", func(m *message) int32 { return m.location(99, 5) }, "[unknown]/unknown"},
		{"function that does not exist", func(m *message) int32 { return m.location(m.mapping("/bin/app"), 0x1000, functionIndex(99)) }, "[app]+0x2000/unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMessage()
			m.sample(m.profile("app"), m.stack(tt.build(m)), 1)
			g := one(t, m.Profiles, callgraph.Options{})
			assert.Equal(t, []string{"app/process;" + tt.want + " 1"}, lines(g))
		})
	}
}

// However many addresses of functions without names are sampled, each function
// is one frame; with detail they are apart and look the same.
func TestFunctionsWithoutNamesAreOneFrameEach(t *testing.T) {
	m := newMessage()
	prof, file := m.profile("gzip"), m.mapping("/usr/bin/gzip")
	for i := range uint64(40) {
		m.sample(prof, m.stack(m.within(file, 0x1200+i, 0x1200)), 1)
		m.sample(prof, m.stack(m.within(file, 0x1300+i, 0x1300)), 2)
	}
	assert.Equal(t, []string{"gzip/process;[gzip]+0x2200/unknown 40", "gzip/process;[gzip]+0x2300/unknown 80"},
		lines(one(t, m.Profiles, callgraph.Options{})))
	addresses := map[string]map[uint64]bool{}
	for _, f := range one(t, m.Profiles, callgraph.Options{Detail: true}).Frames {
		if f.Kind == callgraph.Unknown {
			if addresses[f.Name] == nil {
				addresses[f.Name] = map[uint64]bool{}
			}
			addresses[f.Name][f.Address] = true
		}
	}
	assert.Len(t, addresses, 2)
	assert.Len(t, addresses["[gzip]+0x2200"], 40)
}

func TestStacks(t *testing.T) {
	m := newMessage()
	leaf, root := m.location(0, 1, m.function("leaf")), m.location(0, 2, m.function("root"))
	prof := m.profile("app")
	m.sample(prof, m.stack(leaf, root), 1)
	m.sample(prof, m.stack(leaf, root), 2) // equal stacks under two numbers
	m.sample(prof, m.stack(root), 4)
	m.sample(prof, 0, 8)   // the empty stack
	m.sample(prof, 99, 16) // a stack that does not exist
	m.sample(prof, -7, 32)
	assert.Equal(t, []string{
		"app/process 8",
		"app/process;[unknown]/unknown 48",
		"app/process;root/user 4",
		"app/process;root/user;leaf/user 3",
	}, lines(one(t, m.Profiles, callgraph.Options{})))
}

func TestProcessName(t *testing.T) {
	tests := []struct {
		name     string
		resource map[string]any
		thread   string
		want     string
	}{
		{"executable", map[string]any{"process.executable.name": "nginx", "service.name": "web"}, "worker", "nginx"},
		{"service", map[string]any{"service.name": "web"}, "worker", "web"},
		{"thread", nil, "worker", "worker"},
		{"nothing", nil, "", "[unknown]"},
		{"not a string", map[string]any{"process.executable.name": 7}, "", "[unknown]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMessage()
			prof := m.profile("")
			require.NoError(t, m.ResourceProfiles().At(0).Resource().Attributes().FromRaw(tt.resource))
			s := m.sample(prof, m.stack(m.location(0, 1, m.function("f"))), 1)
			if tt.thread != "" {
				s.AttributeIndices().Append(m.attribute("thread.name", tt.thread))
			}
			assert.Equal(t, []string{tt.want + "/process;f/user 1"}, lines(one(t, m.Profiles, callgraph.Options{})))
		})
	}
}

func TestEmptyDictionaryNeverPanics(t *testing.T) {
	p := pprofile.NewProfiles()
	prof := p.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(40)
	prof.AttributeIndices().Append(3, -3)
	s := prof.Samples().AppendEmpty()
	s.SetStackIndex(12)
	s.AttributeIndices().Append(1, 1<<30, -1)
	s.Values().Append(5)
	p.MarkReadOnly()
	g := one(t, p, callgraph.Options{Detail: true})
	assert.Equal(t, []string{"[unknown]/process;[unknown]/unknown 5"}, lines(g))
}

func TestOneGraphForEachType(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	m.sample(m.typed("app", "samples", "count", "cpu", "nanoseconds"), stack, 3)
	m.sample(m.typed("other", "samples", "count", "cpu", "nanoseconds"), stack, 4)
	m.sample(m.typed("app", "off_cpu", "nanoseconds", "", ""), stack, 5)
	b := callgraph.NewBuilder(callgraph.Options{})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	require.Len(t, graphs, 2)
	assert.Equal(t, "cpu", graphs[0].Name())
	assert.Equal(t, int64(7), graphs[0].Total(0))
	assert.Equal(t, "off_cpu", graphs[1].Name())
	assert.Equal(t, int64(5), graphs[1].Total(0))
	assert.Equal(t, callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}, graphs[1].SampleType)
}

func TestOnlyOneTypeIsAdded(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	m.sample(m.typed("app", "samples", "count", "cpu", "nanoseconds"), stack, 3)
	m.sample(m.typed("app", "off_cpu", "nanoseconds", "", ""), stack, 5)
	m.accounting("host-a", map[string]any{"flametel.samples.taken": 100, "flametel.samples.idle": 97}) // of cpu
	for name, want := range map[string][]int64{"": {100, 5}, "cpu": {100}, "samples": {100}, "off_cpu": {5}, "reads": nil} {
		b := callgraph.NewBuilder(callgraph.Options{SampleType: name, Idle: true})
		b.Add(m.Profiles)
		var totals []int64
		for _, g := range b.Graphs() {
			assert.True(t, name == "" || g.Is(name))
			totals = append(totals, g.Total(0))
		}
		assert.Equal(t, want, totals, name)
		assert.Equal(t, want == nil, b.Empty(), name)
	}
}

func TestGroups(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	m.sample(m.profile("a"), stack, 3)
	m.sample(m.profile("b"), stack, 4)
	m.sample(m.profile("a"), stack, 5)
	b := callgraph.NewBuilder(callgraph.Options{Group: func(r pcommon.Map) string {
		v, _ := r.Get("process.executable.name")
		return v.Str()
	}})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	require.Len(t, graphs, 2)
	assert.Equal(t, "a", graphs[0].Group)
	assert.Equal(t, int64(8), graphs[0].Total(0))
	assert.Equal(t, "b", graphs[1].Group)
	assert.Equal(t, int64(4), graphs[1].Total(0))
}

func TestGroupsAreBounded(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	const groups = 3000
	for i := range groups {
		m.sample(m.profile("p"+itoa(int64(i))), stack, 1)
	}
	b := callgraph.NewBuilder(callgraph.Options{Group: func(r pcommon.Map) string {
		v, _ := r.Get("process.executable.name")
		return v.Str()
	}})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	assert.Less(t, len(graphs), groups)
	var sum int64
	for _, g := range graphs {
		sum += g.Total(0)
	}
	assert.Equal(t, int64(groups), sum)
}

func TestDetailKeepsAddressesLinesAndThreads(t *testing.T) {
	build := func() pprofile.Profiles {
		m := newMessage()
		prof := m.profile("app")
		mapping := m.mapping("/bin/app")
		m.MappingTable().At(int(mapping)).AttributeIndices().Append(m.attribute("process.executable.build_id.gnu", "abcd"))
		for i := range 2 {
			loc := m.location(mapping, 0x1000+uint64(i)*8, m.function("f"), "native")
			m.LocationTable().At(int(loc)).Lines().At(0).SetLine(int64(10 + i))
			s := m.sample(prof, m.stack(loc), 1)
			s.AttributeIndices().Append(m.attribute("thread.name", "worker"), m.intAttribute("thread.id", 42))
		}
		return m.Profiles
	}
	g := one(t, build(), callgraph.Options{})
	assert.Equal(t, []string{"app/process;f/user 2"}, lines(g))

	g = one(t, build(), callgraph.Options{Detail: true})
	assert.Equal(t, []string{"app/process;worker/thread;f/user 1", "app/process;worker/thread;f/user 1"}, lines(g))
	f := g.Frames[g.Nodes[3].Frame]
	assert.Equal(t, uint64(0x1000), f.Address)
	assert.Equal(t, int64(10), f.Line)
	assert.Equal(t, &callgraph.Mapping{Start: 0x1000, Limit: 0x9000, Offset: 0x2000, File: "/bin/app", BuildID: "abcd"}, f.Mapping)
	assert.Equal(t, uint64(42), g.Frames[g.Nodes[2].Frame].Address)
}

func TestAccounting(t *testing.T) {
	m := newMessage()
	m.sample(m.profile("app"), m.stack(m.location(0, 1, m.function("f"))), 50)
	for i := range 2 {
		prof := m.accounting("host-a", map[string]any{
			"flametel.samples.taken": 100, "flametel.samples.kept": 25, "flametel.samples.idle": 60,
			"flametel.samples.filtered": 10, "flametel.samples.lost": 5, "flametel.samples.missed": 8,
			"flametel.samples.lost.counts_full": 2, "flametel.samples.lost.stacks_full": 3,
			"flametel.stacks.truncated": 1, "flametel.frames.total": 400, "flametel.frames.unknown": 4,
			"flametel.frequency.asked": 99.0, "flametel.frequency.achieved": 98.0 + float64(i), "flametel.cpus": 4,
		})
		prof.SetTime(pcommon.NewTimestampFromTime(stackgen.Start().Add(time.Duration(i) * 10 * time.Second)))
		prof.SetDurationNano(uint64(10 * time.Second))
	}
	g := one(t, m.Profiles, callgraph.Options{})
	a := g.Meta.Accounting
	require.NotNil(t, a)
	assert.Equal(t, int64(200), a.Taken)
	assert.Equal(t, a.Taken, a.Kept+a.Idle+a.Filtered+a.Lost)
	assert.Equal(t, []callgraph.Loss{{Cause: "counts_full", Count: 4}, {Cause: "stacks_full", Count: 6}}, a.LostBy)
	assert.Equal(t, int64(16), a.Missed)
	assert.Equal(t, int64(2), a.TruncatedStacks)
	assert.Equal(t, int64(800), a.Frames)
	assert.Equal(t, int64(8), a.UnknownFrames)
	assert.InDelta(t, 99.0, a.FrequencyAsked, 0)
	assert.InDelta(t, 98.5, a.FrequencyAchieved, 1e-9)
	assert.Equal(t, int64(4), a.CPUs)
	assert.Equal(t, stackgen.Start(), g.Meta.Start)
	assert.Equal(t, 20*time.Second, g.Meta.Duration)
	assert.Equal(t, []string{"host-a"}, g.Meta.Hosts)
}

func TestAccountingWithoutSamplesGivesAnEmptyGraph(t *testing.T) {
	m := newMessage()
	m.accounting("host-a", map[string]any{"flametel.samples.taken": 100, "flametel.samples.idle": 100})
	g := one(t, m.Profiles, callgraph.Options{})
	assert.Equal(t, int64(0), g.Total(0))
	assert.Equal(t, int64(100), g.Meta.Accounting.Idle)
	assert.Equal(t, "cpu", g.Name())
}

func TestAccountingOfSeveralHosts(t *testing.T) {
	m := newMessage()
	m.sample(m.profile("app"), m.stack(m.location(0, 1, m.function("f"))), 1)
	m.ResourceProfiles().At(0).Resource().Attributes().PutStr("host.name", "host-a")
	m.accounting("host-a", map[string]any{"flametel.samples.taken": 100, "flametel.cpus": 2})
	m.accounting("host-b", map[string]any{"flametel.samples.taken": 1000, "flametel.cpus": 8})
	b := callgraph.NewBuilder(callgraph.Options{Group: func(r pcommon.Map) string {
		v, _ := r.Get("host.name")
		return v.Str()
	}})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	require.Len(t, graphs, 2)
	assert.Equal(t, int64(100), graphs[0].Meta.Accounting.Taken)
	assert.Equal(t, int64(1000), graphs[1].Meta.Accounting.Taken)
	assert.Equal(t, []string{"host-b"}, graphs[1].Meta.Hosts)
}

func TestHostileAccountingIsHarmless(t *testing.T) {
	m := newMessage()
	m.accounting("h", map[string]any{
		"flametel.samples.taken": math.MaxInt64, "flametel.samples.lost": -5,
		"flametel.samples.lost.x": "many", "flametel.samples.idle": math.Inf(1),
		"flametel.frequency.asked": math.NaN(), "flametel.frequency.achieved": -3.0,
	})
	m.accounting("h", map[string]any{"flametel.samples.taken": 10})
	a := one(t, m.Profiles, callgraph.Options{}).Meta.Accounting
	assert.Equal(t, int64(math.MaxInt64), a.Taken)
	assert.Zero(t, a.Lost)
	assert.Zero(t, a.Idle)
	assert.Zero(t, a.FrequencyAsked)
	assert.Zero(t, a.FrequencyAchieved)
	assert.Empty(t, a.LostBy)
}

func TestTotalNeverExceedsInt64(t *testing.T) {
	m := newMessage()
	prof := m.profile("app")
	a, b := m.stack(m.location(0, 1, m.function("a"))), m.stack(m.location(0, 2, m.function("b")))
	m.sample(prof, a, math.MaxInt64-10)
	m.sample(prof, b, 100)
	g := one(t, m.Profiles, callgraph.Options{})
	assert.Equal(t, int64(math.MaxInt64), g.Total(0))
	assert.True(t, g.Meta.Saturated)
	assert.Equal(t, int64(math.MaxInt64), g.Totals(0)[0])
	assert.Equal(t, int64(10), g.Self[0][3])
}

func TestMemoryLimit(t *testing.T) {
	set := stackgen.New(2000, 1)
	var want int64
	for _, s := range set.Stacks {
		want += s.Count
	}
	b := callgraph.NewBuilder(callgraph.Options{MaxBytes: 1 << 19})
	b.Add(set.Profiles())
	g := b.Graphs()[0]
	checkInvariants(t, g)
	assert.Equal(t, want, g.Total(0), "every sample is accounted for")
	assert.Positive(t, g.Meta.NotKept)
	assert.Less(t, g.Meta.NotKept, want)
	i := 0
	for i = range g.Frames {
		if g.Frames[i].Name == callgraph.NameFull {
			break
		}
	}
	for n := range g.Nodes {
		if n > 0 && int(g.Nodes[n].Frame) == i {
			assert.Equal(t, g.Meta.NotKept, g.Self[0][n])
		}
	}
}

func TestDeepStack(t *testing.T) {
	for _, tt := range []struct{ depth, want int }{{10_000, 10_001}, {100_000, 65_538}} {
		m := newMessage()
		locations := make([]int32, tt.depth)
		for i := range locations {
			locations[i] = m.location(0, uint64(i), m.function("f"+itoa(int64(i%7))))
		}
		m.sample(m.profile("app"), m.stack(locations...), 5)
		g := one(t, m.Profiles, callgraph.Options{})
		assert.Equal(t, int64(5), g.Total(0))
		depths := g.Depths()
		assert.Equal(t, tt.want, int(depths[len(depths)-1]))
		cut := g.Frames[g.Nodes[2].Frame].Name == callgraph.NameTruncated
		assert.Equal(t, tt.depth > 65_536, cut, "a stack cut at its root says so")
	}
}

func TestInlinedCallsCannotMakeAStackEndless(t *testing.T) {
	m := newMessage()
	inlined := make([]any, 1000)
	for i := range inlined {
		inlined[i] = m.function("f")
	}
	loc := m.location(0, 1, inlined...)
	locations := make([]int32, 50_000)
	for i := range locations {
		locations[i] = loc
	}
	m.sample(m.profile("app"), m.stack(locations...), 5)
	g := one(t, m.Profiles, callgraph.Options{})
	assert.Less(t, len(g.Nodes), 70_000)
	assert.Equal(t, int64(5), g.Total(0))
}

func TestGraphDoesNotDependOnOrder(t *testing.T) {
	set := stackgen.New(500, 3)
	want := set.Graph()
	for seed := range uint64(5) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(set.Stacks), func(i, j int) {
			set.Stacks[i], set.Stacks[j] = set.Stacks[j], set.Stacks[i]
		})
		assert.Equal(t, want, set.Graph())
	}
}

func TestBuilderAndMergerAgree(t *testing.T) {
	set := stackgen.New(1000, 2)
	g := one(t, set.Profiles(), callgraph.Options{})
	want := set.Graph()
	assert.Equal(t, want.Total(0), g.Total(0))
	assert.Equal(t, len(want.Nodes), len(g.Nodes))
}

func TestBuilderGoesOn(t *testing.T) {
	m := newMessage()
	m.sample(m.profile("app"), m.stack(m.location(0, 1, m.function("f"))), 5)
	b := callgraph.NewBuilder(callgraph.Options{})
	assert.True(t, b.Empty())
	b.Add(m.Profiles)
	first := b.Graphs()[0]
	b.Add(m.Profiles)
	assert.False(t, b.Empty())
	assert.Equal(t, int64(10), b.Graphs()[0].Total(0))
	assert.Equal(t, int64(5), first.Total(0), "a graph does not change any more")
}

// One sample at 10 Hz stands for ten at 100 Hz, so they are not added up.
func TestPeriodsAreKeptApart(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	for i, period := range []int64{20, 10, 20} {
		p := m.profile("a")
		p.SetPeriod(period)
		m.sample(p, stack, int64(1+i))
	}
	m.accounting("h", map[string]any{"flametel.samples.taken": int64(9)}).SetPeriod(10)
	b := callgraph.NewBuilder(callgraph.Options{})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	require.Len(t, graphs, 2)
	assert.Equal(t, []int64{10, 2}, []int64{graphs[0].Period, graphs[0].Total(0)})
	assert.Equal(t, []int64{20, 4}, []int64{graphs[1].Period, graphs[1].Total(0)})
	require.NotNil(t, graphs[0].Meta.Accounting)
	assert.Equal(t, int64(9), graphs[0].Meta.Accounting.Taken)
	assert.Nil(t, graphs[1].Meta.Accounting, "the other profiler did not account for itself")
}

func TestSamplesAreCountedWhateverTheirUnit(t *testing.T) {
	m := newMessage()
	stack := m.stack(m.location(0, 1, m.function("f")))
	cpu := m.profile("a")
	m.sample(cpu, stack, 5)
	m.sample(cpu, stack, 6)
	off := m.typed("a", "off_cpu", "nanoseconds", "off_cpu", "nanoseconds")
	m.sample(off, stack, 1_000_000)
	m.sample(off, stack, 2_000_000)
	b := callgraph.NewBuilder(callgraph.Options{})
	b.Add(m.Profiles)
	graphs := b.Graphs()
	require.Len(t, graphs, 2)
	assert.Equal(t, int64(11), graphs[0].Samples())
	assert.Equal(t, int64(2), graphs[1].Samples())
}
