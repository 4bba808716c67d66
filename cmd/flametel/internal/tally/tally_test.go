package tally

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/cmd/flametel/internal/fakereceiver"
)

func native(name string) fakereceiver.Frame {
	return fakereceiver.Frame{Name: name, Type: "native", Module: "/bin/prog"}
}

func TestSelfTimeOfLeavesByKind(t *testing.T) {
	t.Parallel()
	main := native("main")
	stacks := []fakereceiver.Stack{
		{PID: 1, Process: "a", Count: 10, Frames: []fakereceiver.Frame{native("f"), main}},
		{PID: 2, Process: "b", Count: 5, Frames: []fakereceiver.Frame{native("f"), native("g"), main}},
		{PID: 2, Process: "b", Count: 7, Frames: []fakereceiver.Frame{{Name: "read", Type: "kernel", Module: "[kernel]"}, main}},
		{PID: 2, Process: "b", Count: 6, Frames: []fakereceiver.Frame{{Name: "loop", Type: "v8js", Module: "[anon]"}, main}},
		{PID: 3, Process: "c", Count: 4, Frames: []fakereceiver.Frame{{Type: "native", Module: "/lib/libx.so"}, main}},
		{PID: 3, Process: "c", Count: 3, Frames: []fakereceiver.Frame{{Type: "kernel", Module: "[kernel]"}}},
		{PID: 3, Process: "c", Count: 9, Frames: []fakereceiver.Frame{{Name: "softirq", Module: "vmlinux"}}},
		{PID: 3, Process: "c", Count: 2, Frames: []fakereceiver.Frame{{Type: "native"}}},
		{PID: 3, Process: "c", Count: 8, Frames: []fakereceiver.Frame{{Name: "read", Type: "event"}, main}},
		{PID: 3, Process: "c", Count: 1},
	}
	tally := New()
	tally.Add(fakereceiver.Data{Stacks: stacks}.Profiles())
	k := tally.Kind("cpu")
	assert.Equal(t, int64(55), k.Total)
	assert.Equal(t, 3, k.Processes())
	assert.Equal(t, []Share{
		{Function{"f", "user"}, 15},
		{Function{"softirq", "kernel"}, 9},
		{Function{"read", "event"}, 8},
		{Function{"read", "kernel"}, 7},
		{Function{"loop", "JIT"}, 6},
		{Function{"[libx.so]", "unknown"}, 4},
		{Function{"[unknown]", "kernel"}, 3},
		{Function{"[unknown]", "unknown"}, 3},
	}, k.Top(99))
	assert.Len(t, k.Top(2), 2)
	assert.Equal(t, []int64{10*2 + 5*3 + (7+6+4)*2 + 3 + 9 + 2 + 8*2, 4 + 3 + 2}, []int64{k.Frames, k.UnknownFrames})
	assert.Nil(t, k.Accounting)
	assert.Zero(t, tally.Kind("off_cpu").Total)
}

func TestGeneratedCodeIsThatOfItsProgram(t *testing.T) {
	t.Parallel()
	jit := fakereceiver.Frame{Type: "jit", Module: "[anon]"}
	tally := New()
	tally.Add(fakereceiver.Data{Stacks: []fakereceiver.Stack{
		{PID: 1, Process: "java", Count: 10, Frames: []fakereceiver.Frame{jit}},
		{PID: 2, Process: "java", Count: 5, Frames: []fakereceiver.Frame{jit}},
		{PID: 3, Process: "qemu", Count: 7, Frames: []fakereceiver.Frame{jit}},
		{PID: 4, Count: 1, Frames: []fakereceiver.Frame{jit}},
	}}.Profiles())
	k := tally.Kind("cpu")
	assert.Equal(t, []Share{
		{Function{"[anon] of java", "unknown"}, 15},
		{Function{"[anon] of qemu", "unknown"}, 7},
		{Function{"[anon]", "unknown"}, 1},
	}, k.Top(99))
	assert.Equal(t, []Module{{"[anon] of java", 15}, {"[anon] of qemu", 7}, {"[anon]", 1}}, k.Unknown(99))
}

func TestAccountingAddsUp(t *testing.T) {
	t.Parallel()
	tally := New()
	for _, d := range []fakereceiver.Data{
		{Duration: time.Second, Accounting: fakereceiver.Accounting{
			"samples.taken": 100, "samples.kept": 60, "samples.idle": 30, "samples.filtered": 6, "samples.lost": 4, "samples.missed": 1,
			"samples.lost.counts_full": 4, "frames.total": 1000, "frames.unknown": 10,
			"frequency.asked": 99.0, "frequency.achieved": 90.0, "cpus": 4,
			"samples.stand_for": 600, "sampling.estimate": 1000.0, "sampling.error": 0.03,
		}},
		{Duration: 3 * time.Second, Accounting: fakereceiver.Accounting{
			"samples.taken": 200, "samples.kept": 190, "samples.lost": 10,
			"samples.lost.counts_full": 3, "samples.lost.stacks_full": 7,
			"frequency.asked": 99.0, "frequency.achieved": 98.0,
			"samples.stand_for": 400, "sampling.estimate": 4000.0, "sampling.error": 0.01,
		}},
	} {
		tally.Add(d.Profiles())
	}
	a := tally.Kind("cpu").Accounting
	assert.Equal(t, []int64{300, 250, 30, 6, 14, 1}, []int64{a.Taken, a.Kept, a.Idle, a.Filtered, a.Lost, a.Missed})
	assert.Equal(t, []Loss{{"counts_full", 7}, {"stacks_full", 7}}, a.LostBy())
	assert.InDelta(t, 96, a.Achieved, 1e-9, "the mean over four seconds")
	assert.InDelta(t, 99, a.Asked, 1e-9)
	assert.Equal(t, int64(4), a.CPUs)
	assert.Equal(t, int64(1000), a.StandFor)
	assert.InDelta(t, 50.0/5000, a.Error(), 1e-9, "30 of 1000 and 40 of 4000, which are independent")
	assert.Equal(t, 3*time.Second, a.Duration(), "both windows begin at one time")
	assert.Zero(t, tally.Kind("cpu").Total, "accounting is no sample")
	assert.Zero(t, tally.Kind("cpu").Processes())
}

func TestIndicesThatPointNowhere(t *testing.T) {
	t.Parallel()
	p := pprofile.NewProfiles()
	prof := p.ResourceProfiles().AppendEmpty().ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(7)
	for _, stack := range []int32{-1, 0, 1, 1 << 30} {
		s := prof.Samples().AppendEmpty()
		s.SetStackIndex(stack)
		s.Values().Append(1)
	}
	loc := p.Dictionary().LocationTable()
	loc.AppendEmpty()
	bad := loc.AppendEmpty()
	bad.SetMappingIndex(9)
	bad.Lines().AppendEmpty().SetFunctionIndex(9)
	bad.AttributeIndices().Append(9)
	p.Dictionary().StackTable().AppendEmpty()
	p.Dictionary().StackTable().AppendEmpty().LocationIndices().Append(1)

	tally := New()
	tally.Add(p)
	assert.Equal(t, []Share{{Function{"[unknown]", "unknown"}, 4}}, tally.Kind("").Top(5))
}

// Whoever gives names to code must not fill our memory; the samples still count.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	tally := New()
	const messages, each = 7, 10_000
	for m := range messages {
		stacks := make([]fakereceiver.Stack, each)
		for i := range stacks {
			stacks[i] = fakereceiver.Stack{PID: int64(i), Count: 1, Frames: []fakereceiver.Frame{native(fmt.Sprintf("f%d_%d", m, i))}}
		}
		tally.Add(fakereceiver.Data{Stacks: stacks}.Profiles())
	}
	k := tally.Kind("cpu")
	assert.Len(t, k.self, maxFunctions)
	assert.Equal(t, int64(messages*each-maxFunctions), k.other)
	assert.Equal(t, int64(messages*each), k.Total)
}
