package receiver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metrics"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
)

// hostSource samples this host: it joins the kernel's samples with what the
// registry knows of processes and the symbolizer of their code.
type hostSource struct {
	cfg *Config
	log *zap.Logger

	symbolizer *symbolize.Symbolizer
	debuginfod *debuginfod.Client // nil if no servers are configured
	registry   *process.Registry
	resolver   *resolver
	unwinding  unwinding
	adviser    adviser
	targets    *targets
	events     *bpf.EventReader
	sources    []source.Source
	relievers  []*reliever // of each source
	cpus       cpuFollower
	meter      *metrics.Aggregator // nil if nobody takes metrics

	applying   sync.Mutex    // held while events are taken in
	eventsLost atomic.Uint64 // since the last drain
	stop       chan struct{} // ends background work
	background sync.WaitGroup
}

// newPipelineSource makes the source that samples this host.
func newPipelineSource(set receiver.Settings, cfg *Config) (pipelineSource, error) {
	return &hostSource{
		cfg:     cfg,
		log:     set.Logger,
		adviser: newAdviser(set.Logger),
		stop:    make(chan struct{}),
	}, nil
}

func (h *hostSource) measure(to *metrics.Aggregator) { h.meter = to }

// Start begins to sample and to follow processes. The processes that run
// already are learnt of in the background: those that are sampled first, by
// the drain, all others for the day when they are gone before they are read.
func (h *hostSource) Start(context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.cfg.Targets.check(procRoot); err != nil {
		return err
	}
	if err := bpf.CheckPrivileges(); err != nil {
		return err
	}
	if h.events, err = bpf.NewEventReader(nil); err != nil {
		return err
	}
	if h.symbolizer, h.debuginfod, err = newSymbolizer(&h.cfg.Symbols); err != nil {
		return err
	}
	// The kernel's symbols are asked for soon, and take a while to read.
	h.background.Go(func() { h.symbolizer.KernelRanges() })
	h.registry = process.New(h.symbolizer, process.Options{CommandLines: h.cfg.ResourceAttributes.CommandLine})
	h.targets = newTargets(&h.cfg.Targets)
	h.unwinding.open(h)
	h.resolver = &resolver{registry: h.registry, symbolizer: h.symbolizer, tables: h.unwinding.manager}
	if err := h.startSources(h.preload()); err != nil {
		return err
	}
	h.warnIfKernelHidden()
	h.follow()
	return nil
}

// startSources starts all kinds at the same time: the kernel takes a while to
// verify each, in which those that run already are not drained but relieved. The
// processes that were named are sampled when their unwind tables are loaded, or soon
// after.
func (h *hostSource) startSources(p *preloading) error {
	list := newSources(h)
	failed := make([]error, len(list))
	relievers := make([]*reliever, len(list))
	var starting sync.WaitGroup
	for i, src := range list {
		starting.Go(func() {
			if failed[i] = src.Start(); failed[i] == nil {
				relievers[i] = h.newReliever(src)
				h.background.Go(func() { relievers[i].run(h.stop, h.log) })
			}
		})
	}
	starting.Wait()
	h.await(p)
	var errs, skipped []error
	for i, src := range list {
		if failed[i] == nil {
			h.sources = append(h.sources, src)
			h.relievers = append(h.relievers, relievers[i])
			errs = append(errs, h.targets.begin(src))
			continue
		}
		err := fmt.Errorf("%s: %w", src.Kind().Name, failed[i])
		if h.cfg.OnMissing == onMissingSkip && event.Unavailable(err) {
			h.log.Warn("A kind of profile is left out, because this kernel cannot do it.", zap.Error(err))
			skipped = append(skipped, err)
			continue
		}
		errs = append(errs, err)
	}
	if err := h.beginTogether(); err != nil {
		errs = append(errs, err)
	}
	if len(h.sources) == 0 && len(errs) == 0 {
		return fmt.Errorf("this kernel can do none of the kinds of profiles that are on: %w", errors.Join(skipped...))
	}
	return errors.Join(errs...)
}

// beginTogether drops what some kinds have counted while others were loaded, which
// takes seconds on a busy host: all cover the same time.
func (h *hostSource) beginTogether() error {
	if len(h.sources) < 2 {
		return nil
	}
	var errs []error
	for _, src := range h.sources {
		_, _, err := src.Drain()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (h *hostSource) warnIfKernelHidden() {
	if h.symbolizer.Stats().KernelHidden {
		h.log.Warn("The addresses of kernel functions are hidden: kernel frames stay [unknown], and idle CPUs are told by the idle task. " +
			"Grant CAP_SYSLOG, or set kernel.kptr_restrict to 0 or 1.")
	}
}

// targetsEnded is targets.ended; all kinds have the same targets.
func (h *hostSource) targetsEnded() bool {
	return len(h.sources) > 0 && h.targets.ended(h.sources[0])
}

// follow starts the background work.
func (h *hostSource) follow() {
	h.background.Go(func() {
		err := h.events.Run(h.applyEvents)
		if err != nil {
			h.log.Error("Processes cannot be followed any more; new ones are read from procfs when they are sampled.", zap.Error(err))
		}
	})
	h.followCPUs()
	h.unwinding.follow(&h.background, h.stop)
	h.background.Go(func() {
		if err := h.registry.Scan(h.stop); err != nil {
			h.log.Warn("The running processes could not be listed; they are read when they are sampled.", zap.Error(err))
		}
	})
}

// applyEvents takes in what happened to processes and to the kernel's code up
// to now. Both the goroutine that waits for events and the drain do it, so
// taking events out and applying them are one step: they must stay in order.
func (h *hostSource) applyEvents() {
	h.applying.Lock()
	defer h.applying.Unlock()
	events := h.events.Poll()
	for i := range events {
		ev := &events[i]
		switch {
		case ev.Kind != bpf.EventSymbol:
		case ev.Gone:
			h.symbolizer.RemoveKernelSymbol(addr.Virtual(ev.Start), ev.Length, ev.Comm)
		default:
			h.symbolizer.AddKernelSymbol(addr.Virtual(ev.Start), ev.Length, ev.Comm)
		}
	}
	h.eventsLost.Add(h.registry.Apply(events))
	h.unwinding.changed()
}

// Drain empties the kernel's maps into w.
func (h *hostSource) Drain(ctx context.Context, w *window.Window) (drainStats, error) {
	stats := drainStats{MapUsage: make(map[string]float64)}
	var errs []error
	for i, src := range h.sources {
		samples, taken, err := src.Drain()
		h.relievers[i].drained()
		errs = append(errs, err)
		for _, cpu := range taken.Restarted {
			errs = append(errs, h.events.RestartCPU(cpu))
		}
		// After the samples were taken, so that nothing they need is missing.
		h.applyEvents()
		h.count(w, src, samples, &taken)
		if stats.Since.IsZero() || taken.From.Before(stats.Since) {
			stats.Since = taken.From
		}
		if taken.To.After(stats.Until) {
			stats.Until = taken.To
		}
		stats.MapUsage[src.Kind().Name+".counts"] = taken.CountsUsed
		stats.MapUsage[src.Kind().Name+".stacks"] = taken.StacksUsed
	}
	h.syncCPUs()
	if h.meter != nil {
		h.meter.Review(h.registry.Ended)
	}
	h.registry.Sweep(h.cfg.DrainInterval)
	h.unwinding.changed()
	h.unwinding.account(&stats)
	errs = append(errs, h.targets.reconsider(h.registry, h.sources), h.targets.review(h.registry, h.sources))
	stats.Processes = h.registry.Len()
	stats.EventsLost = h.eventsLost.Swap(0)
	return stats, errors.Join(errs...)
}

// count adds samples, and those that were not kept, to the window.
func (h *hostSource) count(w *window.Window, src source.Source, samples []bpf.Sample, taken *bpf.Stats) {
	kind := src.Kind()
	tally := w.Tally(kind)
	tally.CPUs = max(tally.CPUs, taken.CPUs)
	if taken.ChildrenLost > 0 {
		h.log.Warn("Children of targets are not profiled: there are too many targets.", zap.Uint64("children", taken.ChildrenLost))
	}
	tally.FrequencyAsked = kind.Frequency
	tally.Share = taken.Share
	counts := window.Counts{
		Taken:      taken.Taken,
		Idle:       taken.Idle,
		Filtered:   taken.Filtered,
		Missed:     taken.Missed,
		MissedIdle: taken.MissedIdle,
		Lost:       make(map[string]uint64),
	}
	for _, l := range taken.Losses() {
		if l.Count > 0 {
			counts.Lost[l.Cause] = l.Count
		}
	}
	if h.meter != nil {
		h.meter.Drained(taken.From, taken.To)
	}
	var values []int64
	for i := range samples {
		s := &samples[i]
		process := h.resolver.find(s)
		if !h.targets.wanted(src, s, process) {
			counts.Filtered += s.Count
			continue
		}
		values = src.Values(s, values[:0])
		leaf, labels := src.Describe(s)
		frames, end := h.resolver.frames(s, process, leaf, kind.Traced)
		if (len(s.User) > 0 || end == bpf.EndNotLooked) && end != bpf.EndExiting {
			tally.CountStack(end.String(), end.Complete(), s.Count)
		}
		h.adviser.look(process, frames)
		if h.meter != nil {
			h.meter.Add(process.Identity, kind, labels, values, s.Count, s.Length())
		}
		if w.Add(process.Identity, kind, h.thread(s, labels), frames, s.Count, values) {
			tally.Estimate.Add(src.Estimate(s))
		}
	}
	tally.Count(counts)
}

func (h *hostSource) thread(s *bpf.Sample, labels *source.Labels) window.Thread {
	return window.Thread{Name: s.ThreadName(), ID: int(s.TID), Labels: labels}
}

// Stop ends sampling; events go on until Close, because the last samples need
// them.
func (h *hostSource) Stop() error {
	// All at the same time: the kernel lets each wait for a while.
	var stopping sync.WaitGroup
	for _, src := range h.sources {
		stopping.Go(src.Stop)
	}
	stopping.Wait()
	return nil
}

// Close releases everything.
func (h *hostSource) Close() error {
	select {
	case <-h.stop:
		return nil
	default:
		close(h.stop)
	}
	if h.events != nil {
		h.events.Close()
	}
	h.cpus.close()
	errs := []error{h.unwinding.interrupt()}
	h.background.Wait()
	for _, src := range h.sources {
		errs = append(errs, src.Close())
	}
	errs = append(errs, h.unwinding.close())
	if h.symbolizer != nil {
		h.symbolizer.Close()
	}
	if h.debuginfod != nil {
		h.debuginfod.Close()
	}
	return errors.Join(errs...)
}
