package bpf

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Sampler samples the CPUs of this host. Its methods may be called from
// several goroutines.
type Sampler struct {
	opts    Options
	objects *objects

	mu        sync.Mutex
	clocks    map[int]*clock // by CPU
	ticks     map[int]uint64 // by CPU: what CPUs had taken when they were last looked at
	drainer   drainer
	stopped   int       // CPUs that were sampled until Stop
	stoppedAt time.Time // zero before

	childrenLost uint64 // up to the last drain
	closed       bool
}

// NewSampler loads the programs and starts sampling. It fails with a
// *PrivilegeError when the kernel refuses for lack of privileges.
func NewSampler(opts Options) (_ *Sampler, err error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	if opts.OnlineCPUs == nil {
		opts.OnlineCPUs = onlineCPUs
	}
	objects, err := load(&opts, profileObject(&opts))
	if err != nil {
		return nil, err
	}
	s := &Sampler{
		opts:    opts,
		objects: objects,
		clocks:  make(map[int]*clock),
		ticks:   make(map[int]uint64),
	}
	s.drainer = newDrainer(objects)
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	var idle []Range
	if opts.IdleRanges != nil {
		idle = opts.IdleRanges()
	}
	if err := objects.setIdle(idle); err != nil {
		return nil, err
	}
	if err := s.SyncCPUs(); err != nil {
		return nil, err
	}
	s.drainer.began = time.Now()
	if len(s.clocks) == 0 {
		return nil, errors.New("sample CPUs: none is online")
	}
	return s, nil
}

// SyncCPUs starts sampling the CPUs that came online since the last call and
// lets go of those that went away. Call it now and then: at each drain is
// cheap enough.
func (s *Sampler) SyncCPUs() error {
	online, err := s.opts.OnlineCPUs()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.stoppedAt.IsZero() {
		return nil
	}
	for cpu, c := range s.clocks {
		if !slices.Contains(online, cpu) {
			c.close()
			delete(s.clocks, cpu)
		}
	}
	for _, cpu := range online {
		if s.clocks[cpu] != nil {
			continue
		}
		c, err := openClock(cpu, s.opts.periodNanos(), s.objects.program)
		if cpuGone(err) {
			continue
		}
		if err != nil {
			return err
		}
		s.clocks[cpu] = c
	}
	return nil
}

// restartStopped reopens the clocks that have not ticked since the last call.
// A CPU that went away and came back between two looks at the list of CPUs
// leaves its event behind, dead. A hypervisor may leave out the ticks of an idle
// CPU, but not the time: a clock without ticks for many periods is asked.
func (s *Sampler) restartStopped(takenByCPU []uint64, sinceLast time.Duration) (restarted []int, err error) {
	const patience = 20 // periods without a tick; scheduling of a VM may swallow a few
	if sinceLast < patience*time.Duration(s.opts.periodNanos()) {
		return nil, nil
	}
	for _, cpu := range slices.Sorted(maps.Keys(s.clocks)) {
		if cpu >= len(takenByCPU) {
			continue
		}
		before, known := s.ticks[cpu]
		s.ticks[cpu] = takenByCPU[cpu]
		if !known || before != takenByCPU[cpu] || s.clocks[cpu].runs() {
			continue
		}
		s.clocks[cpu].close()
		delete(s.clocks, cpu)
		c, err := openClock(cpu, s.opts.periodNanos(), s.objects.program)
		if err != nil && !cpuGone(err) {
			return restarted, err
		}
		if err == nil {
			s.clocks[cpu] = c
			restarted = append(restarted, cpu)
		}
	}
	return restarted, nil
}

// SetTarget keeps the samples of a process, or drops them. Children started
// from then on follow their parent if it is kept.
func (s *Sampler) SetTarget(t Target, v Verdict) error {
	return s.objects.setTarget(t, v)
}

// IsTarget returns what SetTarget, or the parent, said of a process; known is
// false if nobody has.
func (s *Sampler) IsTarget(t Target) (keep, known bool) {
	return s.objects.isTarget(t)
}

// EachTarget yields the processes that are kept and have not been forgotten, which
// is when they have been waited for, until yield returns false.
func (s *Sampler) EachTarget(yield func(Target) bool) error { return s.objects.eachTarget(yield) }

// Stop ends sampling; what was counted can still be drained.
func (s *Sampler) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
}

func (s *Sampler) stop() {
	if len(s.clocks) > 0 {
		s.stopped = len(s.clocks)
	}
	if s.stoppedAt.IsZero() {
		s.stoppedAt = time.Now()
	}
	for cpu, c := range s.clocks {
		c.close()
		delete(s.clocks, cpu)
	}
}

// Close ends sampling and releases every program, map and event. It may be
// called more than once.
func (s *Sampler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.objects.close()
	return nil
}
