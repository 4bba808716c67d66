package bpf

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How long the reader lets events gather after the first one woke it, which is
// the age of what is known of a new process. Handling them may take one part in
// gatherShare of a CPU on a host that starts many processes.
const (
	minGather   = 2 * time.Millisecond
	maxGather   = 20 * time.Millisecond
	gatherShare = 20
)

// EventReader delivers what the kernel tells of processes, in the order in
// which it happened.
type EventReader struct {
	onlineCPUs func() ([]int, error)
	epoll      int     // owned by waiter
	waiter     *waiter // for epoll
	wake       int     // eventfd that ends a wait
	nudged     atomic.Bool
	malformed  atomic.Uint64

	mu      sync.Mutex // guards what follows
	rings   map[int]*eventRing
	held    []Event // read, but events before them may still be on their way
	started bool    // the first set of CPUs is open
	closed  bool
	runs    sync.WaitGroup // waits in Run, which need the descriptors
}

// NewEventReader starts to collect the events of all online CPUs. online lists
// them; nil means those that the kernel says are online.
func NewEventReader(online func() ([]int, error)) (_ *EventReader, err error) {
	if online == nil {
		online = onlineCPUs
	}
	r := &EventReader{onlineCPUs: online, epoll: -1, wake: -1, rings: make(map[int]*eventRing)}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("wait for process events: %w", err)
	}
	if r.waiter, err = newWaiter(r.epoll); err != nil {
		return nil, err
	}
	if r.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("wait for process events: %w", err)
	}
	if err := r.watch(r.wake); err != nil {
		return nil, err
	}
	if err := r.SyncCPUs(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *EventReader) watch(fd int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	if err := unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		return fmt.Errorf("wait for process events: %w", err)
	}
	return nil
}

// SyncCPUs follows CPUs that come and go. What happened on a CPU between its
// return and this call was not seen, so it counts as lost.
func (r *EventReader) SyncCPUs() error {
	online, err := r.onlineCPUs()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	for cpu, ring := range r.rings {
		if !slices.Contains(online, cpu) {
			r.readRing(ring)
			ring.close()
			delete(r.rings, cpu)
		}
	}
	for _, cpu := range online {
		if r.rings[cpu] != nil {
			continue
		}
		if err := r.open(cpu); err != nil {
			return err
		}
	}
	r.started = true
	return nil
}

// RestartCPU opens the events of a CPU again: one that was away for a moment
// leaves a ring behind that stays empty.
func (r *EventReader) RestartCPU(cpu int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	if ring := r.rings[cpu]; ring != nil {
		r.readRing(ring)
		ring.close()
		delete(r.rings, cpu)
	}
	return r.open(cpu)
}

// open starts to collect the events of a CPU, unless it is gone.
func (r *EventReader) open(cpu int) error {
	ring, err := openEventRing(cpu)
	if cpuGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.watch(ring.fd); err != nil {
		ring.close()
		return err
	}
	r.rings[cpu] = ring
	if r.started {
		r.held = append(r.held, Event{Kind: EventLost, Nanos: monotonicNanos(), Lost: 1})
		r.nudge()
	}
	return nil
}

func monotonicNanos() uint64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only for clocks that do not exist
	return uint64(now.Nano())
}

// Run calls wake whenever events are there for Poll, until the reader is
// closed. It lets them gather for a while, see minGather.
func (r *EventReader) Run(wake func()) error {
	if !r.enterRun() {
		return nil
	}
	defer r.runs.Done()
	var took time.Duration // by the last wake
	for {
		if err := r.wait(); err != nil {
			return fmt.Errorf("wait for process events: %w", err)
		}
		time.Sleep(min(max(minGather, gatherShare*took), maxGather))
		r.unnudge() // before looking: Close nudges after it has set closed
		if r.isClosed() {
			return nil
		}
		began := time.Now()
		wake()
		took = time.Since(began)
	}
}

// wait returns when a ring, or nudge, has something for Run. The rings themselves
// tell: a ring says only once that it became readable, and the poller of the
// runtime may be the one who was told.
func (r *EventReader) wait() error {
	return r.waiter.wait(func() bool { return r.nudged.Load() || r.pending() })
}

// pending tells whether something was written to a ring that was not read.
func (r *EventReader) pending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ring := range r.rings {
		if ring.pending() {
			return true
		}
	}
	return false
}

func (r *EventReader) enterRun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.runs.Add(1)
	return true
}

func (r *EventReader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// Poll returns the events that have happened up to now, oldest first, without
// waiting. Calls must not overlap if the order across them matters.
func (r *EventReader) Poll() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	// Rings are read one after the other, so an event of a ring read first
	// may be newer than one that is not yet in a ring read last. What
	// happened before reading began is complete.
	began := monotonicNanos()
	for _, ring := range r.rings {
		r.readRing(ring)
	}
	slices.SortStableFunc(r.held, func(a, b Event) int {
		switch {
		case a.Nanos < b.Nanos:
			return -1
		case a.Nanos > b.Nanos:
			return 1
		}
		return 0
	})
	n, _ := slices.BinarySearchFunc(r.held, began, func(e Event, t uint64) int {
		if e.Nanos < t {
			return -1
		}
		return 1
	})
	events := slices.Clone(r.held[:n])
	r.held = slices.Delete(r.held, 0, n)
	if len(r.held) > 0 {
		r.nudge() // deliver them soon, whether or not more happens
	}
	return events
}

func (r *EventReader) readRing(ring *eventRing) {
	ring.read(func(kind uint32, misc uint16, body []byte) {
		ev, err := parseRecord(kind, misc, body)
		switch {
		case err != nil:
			r.malformed.Add(1)
		case ev.Kind != 0:
			r.held = append(r.held, ev)
		}
	})
}

// nudge makes the next wait of Run return at once.
func (r *EventReader) nudge() {
	r.nudged.Store(true)
	_, _ = unix.Write(r.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (r *EventReader) unnudge() {
	r.nudged.Store(false)
	var count [8]byte
	_, _ = unix.Read(r.wake, count[:])
}

// Malformed is how many records could not be decoded.
func (r *EventReader) Malformed() uint64 {
	return r.malformed.Load()
}

// Close ends Run, waits for it and releases everything. It may be called more
// than once, but not by what Run calls.
func (r *EventReader) Close() {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.closed = true
	for cpu, ring := range r.rings {
		ring.close()
		delete(r.rings, cpu)
	}
	if r.wake >= 0 {
		r.nudge()
	}
	r.mu.Unlock()
	r.runs.Wait()
	if r.wake >= 0 {
		_ = unix.Close(r.wake)
	}
	if r.waiter != nil {
		r.waiter.close()
	}
}
