package receiver

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver"
)

// sharing makes the pipelines of profiles and of metrics that use the same
// receiver share one: the kernel is looked at once for both. A configuration that
// is loaded again is another one.
type sharing struct {
	mu        sync.Mutex
	receivers map[*Config]*sharedReceiver
}

func newSharing() *sharing { return &sharing{receivers: make(map[*Config]*sharedReceiver)} }

// get returns the receiver of a configuration, a new one at the first call.
func (s *sharing) get(set receiver.Settings, cfg *Config, newSource newSourceFunc) (*sharedReceiver, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.receivers[cfg]; r != nil {
		return r, nil
	}
	made, err := newReceiver(set, cfg, nil, newSource)
	if err != nil {
		return nil, err
	}
	r := &sharedReceiver{profilesReceiver: made, sharing: s}
	s.receivers[cfg] = r
	return r, nil
}

func (s *sharing) forget(cfg *Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.receivers, cfg)
}

// sharedReceiver is started and shut down once for each of its pipelines, of
// which the first counts. All of them learn how it is.
type sharedReceiver struct {
	*profilesReceiver
	sharing *sharing

	start, stop sync.Once
	startErr    error
	stopErr     error

	mu    sync.Mutex
	hosts []component.Host
}

// Start begins to sample, if another pipeline has not.
func (r *sharedReceiver) Start(ctx context.Context, host component.Host) error {
	r.mu.Lock()
	r.hosts = append(r.hosts, host)
	r.mu.Unlock()
	r.start.Do(func() { r.startErr = r.profilesReceiver.Start(ctx, &allHosts{host, r}) })
	return r.startErr
}

// Shutdown ends sampling for all pipelines.
func (r *sharedReceiver) Shutdown(ctx context.Context) error {
	r.stop.Do(func() {
		r.sharing.forget(r.cfg)
		r.stopErr = r.profilesReceiver.Shutdown(ctx)
	})
	return r.stopErr
}

// allHosts reports to each host that the receiver was started with.
type allHosts struct {
	component.Host
	of *sharedReceiver
}

// Report implements componentstatus.Reporter.
func (h *allHosts) Report(event *componentstatus.Event) {
	h.of.mu.Lock()
	hosts := slices.Clone(h.of.hosts)
	h.of.mu.Unlock()
	for _, host := range hosts {
		componentstatus.ReportStatus(host, event)
	}
}
