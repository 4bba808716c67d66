package receiver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/metadatatest"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

var fakeKind = &source.Descriptor{
	Name:        "cpu",
	SampleTypes: []source.ValueType{{Type: "samples", Unit: "count"}},
	PeriodType:  source.ValueType{Type: "cpu", Unit: "nanoseconds"},
	Period:      10101010,
}

// fakeSource gives 10 kept, 3 idle, 2 filtered and 1 lost sample at each drain,
// and 4 missed ticks.
type fakeSource struct {
	startErr, stopErr, closeErr error
	// onDrain changes what a drain returns.
	onDrain func(n int) (drainStats, error)

	mu     sync.Mutex
	calls  []string
	drains int
}

var (
	fakeProcess = &window.Process{PID: 42, Name: "burn", ServiceName: "burn"}
	fakeStack   = []*symbolize.Frame{{Kind: symbolize.KindNative, Module: &symbolize.Module{Path: "/bin/burn", Limit: 10}, Lines: []symbolize.Line{{Name: "main"}}}}
)

func (s *fakeSource) call(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, name)
}

func (s *fakeSource) Start(context.Context) error { s.call("start"); return s.startErr }
func (s *fakeSource) Stop() error                 { s.call("stop"); return s.stopErr }
func (s *fakeSource) Close() error                { s.call("close"); return s.closeErr }

func (s *fakeSource) Drain(_ context.Context, w *window.Window) (drainStats, error) {
	s.call("drain")
	s.mu.Lock()
	s.drains++
	n := s.drains
	s.mu.Unlock()
	w.Add(fakeProcess, fakeKind, window.Thread{Name: "worker"}, fakeStack, 10, []int64{10})
	w.Tally(fakeKind).Count(window.Counts{Taken: 16, Idle: 3, Filtered: 2, Missed: 4, Lost: map[string]uint64{"counts_full": 1}})
	if s.onDrain != nil {
		return s.onDrain(n)
	}
	return drainStats{Processes: 5, EventsLost: 1, MapUsage: map[string]float64{"counts": 0.5}}, nil
}

func (s *fakeSource) Settle(*window.Window) { s.call("settle") }

func (s *fakeSource) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// count tells how often a method was called.
func (s *fakeSource) count(name string) (n int) {
	for _, c := range s.called() {
		if c == name {
			n++
		}
	}
	return n
}

// profile is one profile with samples or accounting that a fakeConsumer saw.
type profile struct {
	start, end time.Time
	values     int64
}

// fakeConsumer notes profiles of processes, or does what react says instead.
type fakeConsumer struct {
	react func(ctx context.Context, n int) error

	mu       sync.Mutex
	messages int
	profiles []profile
}

func (c *fakeConsumer) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (c *fakeConsumer) ConsumeProfiles(ctx context.Context, pd pprofile.Profiles) error {
	c.mu.Lock()
	c.messages++
	n := c.messages
	c.mu.Unlock()
	if c.react != nil {
		if err := c.react(ctx, n); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rp := range pd.ResourceProfiles().All() {
		if _, ok := rp.Resource().Attributes().Get("flametel.accounting"); ok {
			continue
		}
		for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
			seen := profile{start: p.Time().AsTime(), end: p.Time().AsTime().Add(time.Duration(p.DurationNano()))}
			for _, s := range p.Samples().All() {
				seen.values += s.Values().At(0)
			}
			c.profiles = append(c.profiles, seen)
		}
	}
	return nil
}

func (c *fakeConsumer) seen() []profile {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.profiles)
}

// fakeHost collects what components report.
type fakeHost struct {
	component.Host
	mu     sync.Mutex
	events []*componentstatus.Event
}

func (h *fakeHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *fakeHost) statuses() (out []componentstatus.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		out = append(out, e.Status())
	}
	return out
}

// rig is a receiver between fakes.
type rig struct {
	*profilesReceiver
	src       *fakeSource
	next      *fakeConsumer
	host      *fakeHost
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{
		src:       &fakeSource{},
		next:      &fakeConsumer{},
		host:      &fakeHost{Host: componenttest.NewNopHost()},
		telemetry: componenttest.NewTelemetry(),
	}
	core, logs := observer.New(zap.InfoLevel)
	set := metadatatest.NewSettings(r.telemetry)
	set.Logger = zap.New(core)
	r.logs = logs
	r.profilesReceiver = r.make(t, set, r.next)
	t.Cleanup(func() { require.NoError(t, r.telemetry.Shutdown(context.Background())) })
	return r
}

func (r *rig) make(t *testing.T, set receiver.Settings, next xconsumer.Profiles) *profilesReceiver {
	t.Helper()
	p, err := newReceiver(set, createDefaultConfig().(*Config), next, func(receiver.Settings, *Config) (pipelineSource, error) {
		return r.src, nil
	})
	require.NoError(t, err)
	return p
}

func (r *rig) start(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Start(context.Background(), r.host))
}

func (r *rig) shutdown(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Shutdown(context.Background()))
}

var (
	errFake = errors.New("no room")
	nop     = receivertest.NewNopSettings(metadata.Type)
)
