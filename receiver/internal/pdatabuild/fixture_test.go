package pdatabuild

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

var cpu = &source.Descriptor{
	Name:        "cpu",
	SampleTypes: []source.ValueType{{Type: "samples", Unit: "count"}},
	PeriodType:  source.ValueType{Type: "cpu", Unit: "nanoseconds"},
	Period:      10101010,
}

// reads has two values a sample and no period.
var reads = &source.Descriptor{
	Name:        "io",
	SampleTypes: []source.ValueType{{Type: "reads", Unit: "count"}, {Type: "read_time", Unit: "nanoseconds"}},
}

// start has a monotonic reading only in real life; the end is 10 s later.
var start = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

var (
	binary1 = &symbolize.Module{Path: "/usr/bin/burn", GNUBuildID: "aabbcc", Start: 0x401000, Limit: 0x402000, Offset: 0x1000}
	goBin   = &symbolize.Module{Path: "/usr/bin/server", GNUBuildID: "dd", GoBuildID: "go/id", Start: 0x401000, Limit: 0x500000, Offset: 0x1000}
	vmlinux = &symbolize.Module{Path: "[kernel]", Start: 0xffffffff81000000, Limit: 0xffffffff82000000}
	anon    = &symbolize.Module{Path: "[anon]", Start: 0x7f0000000000, Limit: 0x7f0000100000}
	nowhere = &symbolize.Module{}
)

func frame(kind symbolize.Kind, m *symbolize.Module, address uint64, names ...string) *symbolize.Frame {
	f := &symbolize.Frame{Kind: kind, Module: m, Address: addr.File(address)}
	for i, n := range names {
		f.Lines = append(f.Lines, symbolize.Line{Name: n, File: n + ".c", Line: int64(10 + i), StartLine: int64(i)})
	}
	if len(names) == 0 {
		f.Reason = symbolize.ReasonNoSymbol
	}
	return f
}

// counter makes identifiers that are the same in each test run.
func counter() func() pprofile.ProfileID {
	n := uint64(0)
	return func() (id pprofile.ProfileID) {
		n++
		binary.BigEndian.PutUint64(id[8:], n)
		return id
	}
}

// add adds count CPU samples and counts them as taken.
func add(w *window.Window, p *window.Process, thread string, count uint64, frames ...*symbolize.Frame) {
	w.Add(p, cpu, window.Thread{Name: thread}, frames, count, []int64{int64(count)})
	w.Tally(cpu).Count(window.Counts{Taken: count})
}

func newWindow() *window.Window {
	w := window.New(start, window.Limits{})
	t := w.Tally(cpu)
	t.FrequencyAsked, t.CPUs = 99, 2
	return w
}

// build closes the window and builds it, and checks each message by itself.
func build(t testing.TB, w *window.Window, s Settings) []Message {
	t.Helper()
	w.Close(start.Add(10 * time.Second))
	messages := New(s).Build(w)
	require.NotEmpty(t, messages)
	return messages
}

// manyStacks adds n distinct stacks of one process. Their frames are drawn
// from a program of size functions.
func manyStacks(w *window.Window, n, functions, depth int) {
	p := &window.Process{PID: 7, Name: "big", ExecutablePath: "/opt/big", ServiceName: "big"}
	m := &symbolize.Module{Path: "/opt/big", GNUBuildID: "0123456789abcdef0123456789abcdef01234567", Start: 0, Limit: 1 << 30}
	frames := make([]*symbolize.Frame, functions)
	for i := range frames {
		frames[i] = frame(symbolize.KindNative, m, uint64(i)*64, fmt.Sprintf("some::name_space::function_%d", i))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	stack := make([]*symbolize.Frame, depth)
	for range n {
		for i := range stack {
			stack[i] = frames[rnd.IntN(len(frames))]
		}
		add(w, p, "worker", 1, stack...)
	}
}
