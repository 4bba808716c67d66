package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Tracer counts events of one kind. Its methods may be called from several
// goroutines.
type Tracer struct {
	probe   *Probe
	objects *objects

	mu      sync.Mutex // taken before hooking
	cutter  *link.Iter // nil for kinds whose events take no time
	drainer drainer
	session uint32 // tells calls that began before a Detach

	// hooking is held for moments only, so that Stop need not wait for a drain.
	hooking   sync.Mutex
	links     []link.Link
	detaching sync.WaitGroup   // from functions, see detach
	events    map[int][]*clock // by CPU
	stoppedAt time.Time        // zero before

	misses       map[string]uint64 // by program: runs left out up to the last drain
	childrenLost uint64            // up to the last drain
	closed       bool
}

// NewTracer loads the programs of a kind and attaches them. It fails with a
// *MissingError when the kernel has not got what they need, and with a
// *PrivilegeError when it refuses for lack of privileges. Of opts the frequency
// and what belongs to it are not used.
func NewTracer(p *Probe, opts Options) (*Tracer, error) {
	if err := opts.validateMaps(); err != nil {
		return nil, err
	}
	if p.calls == nil {
		return newTracer(p, opts)
	}
	t, refused := newFunctionTracer(p, opts)
	if refused != nil {
		var err error
		if t, err = newTracer(p.onTracepoints(), opts); err != nil {
			return nil, err
		}
	}
	if opts.OnCallHooks != nil {
		opts.OnCallHooks(refused)
	}
	return t, nil
}

// newFunctionTracer hangs on functions, all of them or none.
func newFunctionTracer(p *Probe, opts Options) (*Tracer, error) {
	p, err := p.onFunctions(opts.Without)
	if err != nil {
		return nil, err
	}
	return newTracer(p, opts)
}

func newTracer(p *Probe, opts Options) (_ *Tracer, err error) {
	if opts.MapEntries == 0 {
		opts.MapEntries = eventEntries(p.events, opts.DrainInterval, runtime.NumCPU())
	}
	opts.fewChunks = true
	of := *p.object
	of.fit = func(spec *ebpf.CollectionSpec) error { return p.fit(spec, opts.Without) }
	objects, err := load(&opts, &of)
	if err != nil {
		return nil, err
	}
	t := &Tracer{probe: p, objects: objects, events: make(map[int][]*clock), misses: make(map[string]uint64)}
	t.drainer = newDrainer(objects)
	defer func() {
		if err != nil {
			_ = t.Close()
		}
	}()
	if p.cut != "" {
		t.cutter, err = link.AttachIter(link.IterOptions{Program: objects.programs.Programs[p.cut]})
		if err != nil {
			return nil, t.attachError("the list of tasks", err)
		}
		t.drainer.cut = t.cut
	}
	if p.more != nil {
		t.drainer.more = func(epoch uint32, dst []Sample) ([]Sample, error) { return p.more(t, epoch, dst) }
	}
	if err := t.Attach(); err != nil {
		return nil, err
	}
	t.drainer.began = time.Now()
	return t, nil
}

// entriesPerCPU is the room that each CPU needs on a host with many. A parallel
// build makes two to four thousand distinct observations on a CPU and second,
// and the maps are relieved ten times in each.
const entriesPerCPU = 512

// eventEntries is how many distinct observations there is room for between two
// drains, if nobody relieves the maps.
func eventEntries(perSecond int, interval time.Duration, cpus int) int {
	n := max(int(float64(perSecond)*interval.Seconds()), entriesPerCPU*cpus)
	return roundUp(min(max(n, minMapEntries), maxMapEntries))
}

// Attach makes the programs run when they do not.
func (t *Tracer) Attach() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hooking.Lock()
	defer t.hooking.Unlock()
	if t.closed || !t.stoppedAt.IsZero() || len(t.links)+len(t.events) > 0 {
		return nil
	}
	t.detaching.Wait()
	if v := t.objects.programs.Variables[syscallsVarSession]; v != nil {
		t.session++
		if err := v.Set(t.session); err != nil {
			return fmt.Errorf("begin a session: %w", err)
		}
	}
	for _, h := range t.probe.hooks {
		program := t.objects.programs.Programs[h.program]
		if program == nil {
			continue // the kernel has not got the hook
		}
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			t.detach()
			return t.attachError(h.event, err)
		}
		t.links = append(t.links, l)
	}
	if err := t.syncCPUs(); err != nil {
		t.detach()
		return err
	}
	return nil
}

// SyncCPUs follows CPUs that come and go. Only kinds that hang on events of
// each CPU have anything to do.
func (t *Tracer) SyncCPUs() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hooking.Lock()
	defer t.hooking.Unlock()
	if t.closed || !t.stoppedAt.IsZero() {
		return nil
	}
	return t.syncCPUs()
}

func (t *Tracer) syncCPUs() error {
	if len(t.probe.clocked) == 0 {
		return nil
	}
	online, err := onlineCPUs()
	if err != nil {
		return err
	}
	for cpu, list := range t.events {
		if !slices.Contains(online, cpu) {
			closeAll(list)
			delete(t.events, cpu)
		}
	}
	for _, cpu := range online {
		if t.events[cpu] != nil {
			continue
		}
		for _, c := range t.probe.clocked {
			e, err := openSoftware(cpu, c.config, 1, t.objects.programs.Programs[c.program])
			if cpuGone(err) {
				break
			}
			if err != nil {
				return err
			}
			t.events[cpu] = append(t.events[cpu], e)
		}
	}
	return nil
}

func closeAll(events []*clock) {
	for _, e := range events {
		e.close()
	}
}

func (t *Tracer) attachError(to string, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return newPrivilegeError(fmt.Sprintf("attach program %q to %s", t.probe.object.name, to), err)
	}
	return fmt.Errorf("attach program %q to %s: %w", t.probe.object.name, to, err)
}

// Detach ends their running; what has begun by then is not seen to end.
func (t *Tracer) Detach() {
	t.hooking.Lock()
	defer t.hooking.Unlock()
	t.detach()
	t.detaching.Wait()
}

// detach ends counting. For each function that a program hangs on, the kernel waits
// until no task can be in what it has put before the function, some 100 ms. So the
// programs are told to count no more, and are detached in the background.
func (t *Tracer) detach() {
	links := t.links
	t.links = nil
	if t.probe.slow && len(links) > 0 {
		_ = t.objects.programs.Variables[syscallsVarSession].Set(uint32(0)) // fails only for maps that are read-only
		t.detaching.Go(func() { closeLinks(links) })
	} else {
		closeLinks(links)
	}
	for cpu, list := range t.events {
		closeAll(list)
		delete(t.events, cpu)
	}
}

func closeLinks(links []link.Link) {
	for _, l := range links {
		_ = l.Close()
	}
}

// Drain takes all observations out of the kernel and starts a new count. They
// stay valid until the next call.
func (t *Tracer) Drain() ([]Sample, Stats, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, Stats{}, errors.New("drain: the tracer is closed")
	}
	drained, err := t.drainer.drain()
	stats := drained.stats
	if s := t.stopped(); !s.IsZero() && s.Before(stats.To) && s.After(stats.From) {
		stats.To = s
	}
	t.countMisses(&stats)
	if lost, e := t.objects.childrenLost(); e == nil {
		stats.ChildrenLost, t.childrenLost = lost-t.childrenLost, lost
	}
	if err != nil {
		return nil, stats, fmt.Errorf("drain %s: %w", t.probe.object.name, err)
	}
	return drained.samples, stats, nil
}

// Relieve takes what was counted out of the kernel if its maps fill up; the next
// Drain returns it. Call it some ten times a second: it is cheap if there is
// nothing to do. While Drain runs, it does nothing.
func (t *Tracer) Relieve() error {
	if !t.mu.TryLock() {
		return nil
	}
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	if err := t.drainer.relieve(); err != nil {
		return fmt.Errorf("relieve the maps of %s: %w", t.probe.object.name, err)
	}
	return nil
}

// countMisses adds the runs of programs that the kernel left out because the
// same program was running on that CPU already.
func (t *Tracer) countMisses(stats *Stats) {
	for _, h := range t.probe.hooks {
		program := t.objects.programs.Programs[h.program]
		if program == nil {
			continue
		}
		run, err := program.Stats()
		if err != nil {
			continue
		}
		missed := run.RecursionMisses - t.misses[h.program] // since 5.12
		t.misses[h.program] = run.RecursionMisses
		stats.Taken += missed
		stats.LostRecursion += missed
	}
}

// cut is drainer.cut.
func (t *Tracer) cut(generation uint32, nanos uint64) error {
	vars := t.objects.programs.Variables
	if err := errors.Join(vars["cut_ns"].Set(nanos), vars["cut_generation"].Set(generation)); err != nil {
		return fmt.Errorf("set the end of the interval: %w", err)
	}
	run, err := t.cutter.Open()
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	defer run.Close()
	used, err := io.ReadAll(run)
	if err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	for ; len(used) >= 8; used = used[8:] {
		t.drainer.use(binary.NativeEndian.Uint64(used))
	}
	return nil
}

// SetTarget keeps the observations of a process, or drops them. Children
// started from then on follow their parent if it is kept.
func (t *Tracer) SetTarget(target Target, v Verdict) error { return t.objects.setTarget(target, v) }

// IsTarget returns what SetTarget, or the parent, said of a process; known is
// false if nobody has.
func (t *Tracer) IsTarget(target Target) (keep, known bool) { return t.objects.isTarget(target) }

// EachTarget yields the processes that are kept and have not been forgotten, which
// is when they have been waited for, until yield returns false.
func (t *Tracer) EachTarget(yield func(Target) bool) error { return t.objects.eachTarget(yield) }

// Stop ends counting, also while Drain runs; what was counted can still be drained.
func (t *Tracer) Stop() {
	t.hooking.Lock()
	defer t.hooking.Unlock()
	if t.stoppedAt.IsZero() {
		t.stoppedAt = time.Now()
	}
	t.detach()
}

// stopped returns when counting ended, zero if it has not.
func (t *Tracer) stopped() time.Time {
	t.hooking.Lock()
	defer t.hooking.Unlock()
	return t.stoppedAt
}

// Close ends counting and releases every program and map. It may be called
// more than once.
func (t *Tracer) Close() error {
	t.Stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	t.detaching.Wait()
	if t.cutter != nil {
		_ = t.cutter.Close()
	}
	t.objects.close()
	return nil
}
