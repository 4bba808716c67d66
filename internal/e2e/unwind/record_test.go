//go:build integration && linux

package unwind

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver"
)

// stack is one user stack of a process, and how often it was seen.
type stack struct {
	frames   []string // names, the root first; code without a name is "?file"
	complete bool     // its root is where the thread begins
	kernel   bool     // the CPU was in the kernel
	window   int      // counted from the first one of the recording
	count    int64
	pid      int
	thread   string
	process  string // name of the program
}

// stacks are those of one process.
type stacks []stack

func (s stacks) total() (n int64) {
	for i := range s {
		n += s[i].count
	}
	return n
}

// sink is the next component: it keeps the stacks of every process.
type sink struct {
	mu       sync.Mutex
	first    pcommon.Timestamp
	byPID    map[int]stacks
	order    []int // PIDs as they appeared
	accounts []map[string]any
}

func (*sink) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (s *sink) ConsumeProfiles(_ context.Context, pd pprofile.Profiles) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rp := range pd.ResourceProfiles().All() {
		attrs := rp.Resource().Attributes()
		pid, _ := attrs.Get("process.pid")
		name, _ := attrs.Get("process.executable.name")
		for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
			if s.first == 0 {
				s.first = p.Time()
			}
			window := int((p.Time() - s.first + pcommon.Timestamp(windowLength/2)) / pcommon.Timestamp(windowLength))
			if _, ok := attrs.Get("flametel.accounting"); ok {
				s.accounts = append(s.accounts, attributes(pd.Dictionary(), p.AttributeIndices()))
			}
			for _, sample := range p.Samples().All() {
				one := decode(pd.Dictionary(), sample)
				one.window, one.process, one.pid = window, name.Str(), int(pid.Int())
				s.add(one)
			}
		}
	}
	return nil
}

func (s *sink) add(one stack) {
	if s.byPID[one.pid] == nil {
		s.order = append(s.order, one.pid)
	}
	s.byPID[one.pid] = append(s.byPID[one.pid], one)
}

// processes returns the PIDs of a program as they appeared.
func (s *sink) processes(program string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.order), func(pid int) bool {
		return !slices.ContainsFunc(s.byPID[pid], func(one stack) bool { return one.process == program })
	})
}

func attributes(d pprofile.ProfilesDictionary, indices pcommon.Int32Slice) map[string]any {
	out := make(map[string]any)
	for _, i := range indices.All() {
		a := d.AttributeTable().At(int(i))
		out[d.StringTable().At(int(a.KeyStrindex()))] = a.Value().AsRaw()
	}
	return out
}

const truncated = "[truncated]"

func decode(d pprofile.ProfilesDictionary, sample pprofile.Sample) stack {
	out := stack{complete: true, count: sample.Values().At(0)}
	out.thread, _ = attributes(d, sample.AttributeIndices())["thread.name"].(string)
	locations := d.StackTable().At(int(sample.StackIndex())).LocationIndices()
	for _, i := range locations.All() {
		l := d.LocationTable().At(int(i))
		if attributes(d, l.AttributeIndices())["profile.frame.type"] == "kernel" {
			out.kernel = true
			continue
		}
		if l.Lines().Len() == 0 {
			file := d.MappingTable().At(int(l.MappingIndex())).FilenameStrindex()
			out.frames = append(out.frames, "?"+base(d.StringTable().At(int(file))))
		}
		for _, line := range l.Lines().All() {
			name := d.StringTable().At(int(d.FunctionTable().At(int(line.FunctionIndex())).NameStrindex()))
			if name == truncated {
				out.complete = false
				continue
			}
			out.frames = append(out.frames, name)
		}
	}
	slices.Reverse(out.frames)
	return out
}

const windowLength = 500 * time.Millisecond

// recorder is a running receiver.
type recorder struct {
	*sink
	t testing.TB
}

// record profiles processes until the test ends.
func record(t testing.TB, frequency int, pids ...int) *recorder {
	t.Helper()
	return run(t, func(c *receiver.Config) {
		c.CPU.Frequency = frequency
		c.Targets.PIDs = pids
	})
}

func run(t testing.TB, change func(*receiver.Config)) *recorder {
	t.Helper()
	f := receiver.NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*receiver.Config)
	cfg.Symbols.Patience = time.Minute // names are asked for, not how fast a machine is
	cfg.Window, cfg.DrainInterval = windowLength, windowLength/5
	change(cfg)
	require.NoError(t, cfg.Validate())
	r := &recorder{sink: &sink{byPID: make(map[int]stacks)}, t: t}
	c, err := f.CreateProfiles(context.Background(), receivertest.NewNopSettings(f.Type()), cfg, r.sink)
	require.NoError(t, err)
	require.NoError(t, c.Start(context.Background(), componenttest.NewNopHost()))
	t.Cleanup(func() { require.NoError(t, c.Shutdown(context.Background())) })
	return r
}

// of returns the stacks of a process so far, once it is warm.
func (r *recorder) of(pid int) stacks {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byPID[pid].warm()
}

// warm returns the stacks without those of the first windows: until the tables of
// its files are loaded, a program's stacks may be cut, and how long that takes
// depends on how busy the host is.
func (s stacks) warm() stacks {
	if len(s) == 0 {
		return nil
	}
	warm := s[0].window + warmWindows
	cut := make(map[int]bool)
	for _, one := range s {
		cut[one.window] = cut[one.window] || !one.complete
	}
	for w := warm; w < warm+mostWarmWindows; w++ {
		if was, seen := cut[w]; seen && !was {
			warm = w
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(s), func(one stack) bool { return one.window < warm })
}

const (
	warmWindows = 2
	// Without a window that has complete stacks only, all the others count.
	mostWarmWindows = 6
)

// enough waits until each process has n samples.
func (r *recorder) enough(n int64, pids ...int) {
	r.t.Helper()
	r.wait(fmt.Sprintf("%d samples of each process", n), func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool { return r.of(pid).total() < n })
	})
}

// patience is how long a busy machine may take for what takes seconds; programs
// run a little longer.
const patience = 4 * time.Minute

// wait waits for what has to come sooner or later.
func (r *recorder) wait(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(windowLength / 5) {
		if time.Now().After(deadline) {
			r.t.Fatalf("after %v there are not %s", patience, what)
		}
	}
}
