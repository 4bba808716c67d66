package window

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/symbolize"
)

var (
	cpu   = &source.Descriptor{Name: "cpu", SampleTypes: []source.ValueType{{Type: "samples", Unit: "count"}}}
	reads = &source.Descriptor{Name: "reads", SampleTypes: []source.ValueType{{Type: "reads", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}}
	start = time.Unix(1000, 0)
)

func named(name string) *symbolize.Frame {
	return &symbolize.Frame{Lines: []symbolize.Line{{Name: name}}}
}

func unnamed(r symbolize.Reason) *symbolize.Frame { return &symbolize.Frame{Reason: r} }

func TestSamplesAreAddedUpByIdentity(t *testing.T) {
	w := New(start, Limits{})
	a, b, c := named("a"), named("b"), named("c")
	p, q := &Process{PID: 1}, &Process{PID: 2}
	add := func(p *Process, thread Thread, count uint64, frames ...*symbolize.Frame) {
		require.True(t, w.Add(p, cpu, thread, frames, count, []int64{int64(count)}))
	}
	add(p, Thread{Name: "t"}, 1, a, b)
	add(p, Thread{Name: "t"}, 2, a, b) // the same
	add(p, Thread{Name: "t"}, 4, b, a) // another order
	add(p, Thread{Name: "t"}, 8, a, b, c)
	add(p, Thread{Name: "t", ID: 5}, 16, a, b)
	add(p, Thread{Name: "u"}, 32, a, b)
	add(q, Thread{Name: "t"}, 64, a, b)
	add(q, Thread{Name: "t"}, 128) // no stack at all
	require.True(t, w.Add(p, reads, Thread{Name: "t"}, []*symbolize.Frame{a, b}, 2, []int64{2, 700}))
	require.True(t, w.Add(p, reads, Thread{Name: "t"}, []*symbolize.Frame{a, b}, 1, []int64{1, 300}))
	w.Close(start.Add(time.Second))

	series := w.Series()
	require.Len(t, series, 3)
	assert.Equal(t, []int64{3, 4, 8, 16, 32}, firstValues(series[0]))
	assert.Equal(t, []int64{64, 128}, firstValues(series[1]))
	require.Len(t, series[2].Samples, 1)
	assert.Equal(t, []int64{3, 1000}, series[2].Samples[0].Values)
	assert.Equal(t, uint64(3), series[2].Samples[0].Count)
	assert.Same(t, series[0].Process, series[2].Process)
	assert.Same(t, series[0].Samples[0].Stack, series[1].Samples[0].Stack, "stacks are held once")
	assert.Equal(t, uint64(255), w.Tally(cpu).Kept)
	assert.Equal(t, uint64(3), w.Tally(reads).Kept)
}

func firstValues(s *Series) (out []int64) {
	for _, sample := range s.Samples {
		out = append(out, sample.Values[0])
	}
	return out
}

// The caller may use its slices again, and may rename a process later.
func TestWindowKeepsItsOwnCopies(t *testing.T) {
	w := New(start, Limits{})
	a, b := named("a"), named("b")
	frames, values := []*symbolize.Frame{a}, []int64{1}
	p := &Process{PID: 1, Name: "sh"}
	w.Add(p, cpu, Thread{}, frames, 1, values)
	frames[0], values[0] = b, 100
	p.Name = "prog"
	w.Close(start.Add(time.Second))
	p.Name = "later"

	s := w.Series()[0]
	assert.Equal(t, "prog", s.Process.Name, "the name at the end of the window")
	assert.Same(t, a, s.Samples[0].Stack.Frames[0])
	assert.Equal(t, []int64{1}, s.Samples[0].Values)
}

func TestFramesAreCounted(t *testing.T) {
	w := New(start, Limits{})
	p := &Process{PID: 1}
	add := func(count uint64, frames ...*symbolize.Frame) {
		w.Add(p, cpu, Thread{}, frames, count, []int64{int64(count)})
	}
	add(3, named("a"), unnamed(symbolize.ReasonNoSymbol), unnamed(symbolize.ReasonNoMap))
	add(5, unnamed(symbolize.ReasonNoMap), named("b"), Truncated)
	add(7, named("c"))
	add(1, named("kernel"), Truncated, named("user"), Truncated)
	tally := w.Tally(cpu)
	assert.Equal(t, uint64(3+5+7+2), tally.FramesNamed, "the mark of truncation is not a frame")
	assert.Equal(t, map[symbolize.Reason]uint64{symbolize.ReasonNoSymbol: 3, symbolize.ReasonNoMap: 3 + 5}, tally.FramesUnknown)
	assert.Equal(t, uint64(11), tally.UnknownTotal())
	assert.Equal(t, uint64(5+1), tally.Truncated)

	w.Close(start.Add(time.Second))
	tally.Withdraw(w.Series()[0].Samples[1], CauseOversized)
	assert.Equal(t, uint64(11), tally.Kept)
	assert.Equal(t, uint64(3+7+2), tally.FramesNamed)
	assert.Equal(t, uint64(6), tally.UnknownTotal())
	assert.Equal(t, uint64(1), tally.Truncated)
	assert.Equal(t, map[string]uint64{CauseOversized: 5}, tally.Lost)
}

// Frames get their names after they were added.
func TestRename(t *testing.T) {
	w := New(start, Limits{})
	p, q := &Process{PID: 1}, &Process{PID: 2}
	root, late, never := named("root"), unnamed(symbolize.ReasonNoMap), unnamed(symbolize.ReasonNoMap)
	name := named("late")
	add := func(p *Process, count uint64, frames ...*symbolize.Frame) {
		w.Add(p, cpu, Thread{}, frames, count, []int64{int64(count)})
	}
	add(p, 1, late, root)        // becomes what follows
	add(p, 2, name, root)        // sampled when the name was known
	add(p, 4, late, late, root)  // both frames
	add(p, 8, late, never, root) // one of two
	add(p, 16, never, root)      // stays
	add(q, 32, late, root, Truncated)
	w.Add(p, reads, Thread{}, []*symbolize.Frame{late, root}, 64, []int64{64, 640})
	before := *w.Tally(cpu)
	w.Rename(nil)
	w.Rename(map[*symbolize.Frame]*symbolize.Frame{unnamed(symbolize.ReasonNoMap): name})
	assert.Equal(t, uint64(1+4+4+8+8+16+32), w.Tally(cpu).UnknownTotal())

	w.Rename(map[*symbolize.Frame]*symbolize.Frame{late: name})
	tally := w.Tally(cpu)
	assert.Equal(t, before.Kept, tally.Kept)
	assert.Equal(t, before.Truncated, tally.Truncated)
	assert.Equal(t, uint64(8+16), tally.UnknownTotal())
	assert.Equal(t, uint64(2*1+2*2+3*4+2*8+16+2*32), tally.FramesNamed)
	assert.Zero(t, w.Tally(reads).UnknownTotal())
	add(p, 128, name, root) // the window goes on

	w.Close(start.Add(time.Second))
	require.Len(t, w.Series(), 3)
	samples := w.Series()[0].Samples
	assert.Equal(t, []int64{1 + 2 + 128, 4, 8, 16}, firstValues(w.Series()[0]))
	assert.Equal(t, uint64(1+2+128), samples[0].Count)
	assert.Equal(t, []*symbolize.Frame{name, root}, samples[0].Stack.Frames)
	assert.Equal(t, []*symbolize.Frame{name, name, root}, samples[1].Stack.Frames)
	assert.Equal(t, []*symbolize.Frame{name, never, root}, samples[2].Stack.Frames)
	assert.Equal(t, []*symbolize.Frame{never, root}, samples[3].Stack.Frames)
	assert.Equal(t, []int64{64, 640}, w.Series()[2].Samples[0].Values)
	assert.Same(t, samples[0].Stack, w.Series()[2].Samples[0].Stack, "stacks are held once")
}

// At either limit, what is known still counts and what is new is lost.
func TestFullWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits Limits
	}{
		{"samples", Limits{Samples: 10}},
		{"frames", Limits{Frames: 29}}, // room for nine stacks of three, not ten
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := New(start, tt.limits)
			p := &Process{PID: 1}
			root := named("main")
			var stacks [][]*symbolize.Frame
			taken := uint64(0)
			for range 20 {
				stacks = append(stacks, []*symbolize.Frame{named("leaf"), named("mid"), root})
			}
			for range 3 {
				for _, s := range stacks {
					w.Add(p, cpu, Thread{}, s, 2, []int64{2})
					w.Tally(cpu).Count(Counts{Taken: 2})
					taken += 2
				}
			}
			tally := w.Tally(cpu)
			assert.Equal(t, taken, tally.Kept+tally.Idle+tally.Filtered+tally.LostTotal())
			assert.Equal(t, tally.LostTotal(), tally.Lost[CauseWindowFull])
			held := uint64(10)
			if tt.limits.Frames > 0 {
				held = 9
			}
			assert.Equal(t, held*6, tally.Kept)
		})
	}
}

// Stacks of equal hash are told apart by their frames.
func TestHashCollision(t *testing.T) {
	w := New(start, Limits{})
	a, b := []*symbolize.Frame{named("a")}, []*symbolize.Frame{named("b")}
	first, second := w.addStack(42, a), w.addStack(42, b)
	assert.Same(t, first, w.findStack(42, a))
	assert.Same(t, second, w.findStack(42, b))
	assert.Nil(t, w.findStack(42, []*symbolize.Frame{a[0], b[0]}))
	assert.Nil(t, w.findStack(43, a))
}

func TestCounts(t *testing.T) {
	var w Window
	tally := w.Tally(cpu)
	tally.Count(Counts{Taken: 10, Idle: 2, Filtered: 3, Missed: 7, MissedIdle: 8, Lost: map[string]uint64{"counts_full": 1, "none": 0}})
	tally.Count(Counts{Taken: 1, Missed: 1, MissedIdle: 2, Lost: map[string]uint64{"counts_full": 1, "stacks_full": 4}})
	assert.Equal(t, Counts{Taken: 11, Idle: 2, Filtered: 3, Missed: 8, MissedIdle: 10, Lost: map[string]uint64{"counts_full": 2, "stacks_full": 4}}, tally.Counts)
	assert.Equal(t, uint64(6), tally.LostTotal())
	assert.Same(t, tally, w.Tally(cpu))
	assert.NotSame(t, tally, w.Tally(reads))
	assert.Len(t, w.Tallies(), 2)
}

func BenchmarkAdd(b *testing.B) {
	for _, depth := range []int{5, 30, 120} {
		for _, state := range []string{"known", "new"} {
			b.Run(fmt.Sprintf("depth=%d/%s", depth, state), func(b *testing.B) {
				benchmarkAdd(b, depth, state == "new")
			})
		}
	}
}

func benchmarkAdd(b *testing.B, depth int, fresh bool) {
	const distinct = 1 << 14
	rnd := rand.New(rand.NewPCG(1, 2))
	functions := make([]*symbolize.Frame, 1000)
	for i := range functions {
		functions[i] = named("f")
	}
	stacks := make([][]*symbolize.Frame, distinct)
	for i := range stacks {
		for range depth {
			stacks[i] = append(stacks[i], functions[rnd.IntN(len(functions))])
		}
	}
	p := &Process{PID: 1}
	values := []int64{1}
	w := New(start, Limits{})
	for _, s := range stacks {
		w.Add(p, cpu, Thread{Name: "worker"}, s, 1, values)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if fresh && i%distinct == 0 {
			w = New(start, Limits{})
		}
		w.Add(p, cpu, Thread{Name: "worker"}, stacks[i%distinct], 1, values)
	}
}
