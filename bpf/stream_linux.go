package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/ringbuf"
)

// A Family is what a Stream tells of.
type Family uint8

// The families. StreamCalls are added up, of the others each event is told.
const (
	StreamCalls       Family = iota + 1 // system calls
	StreamOpens                         // opened files
	StreamReads                         // reads of regular files
	StreamWaits                         // threads that do not run
	StreamAllocations                   // memory that the kernel allocates
)

// StreamOptions set up a Stream.
type StreamOptions struct {
	Family Family
	// MinDuration leaves shorter events out, MinBytes smaller allocations.
	MinDuration time.Duration
	MinBytes    uint64
	// FailedOnly leaves calls out that succeeded.
	FailedOnly bool
	// RingBytes is how much room there is for events that have not been read, a
	// power of two and whole pages; 0 means 4 MiB.
	RingBytes uint32
}

// Event kinds of StreamAllocations in LiveEvent.Detail (stream.bpf.c).
const (
	LiveKmalloc = 1
	LiveSlab    = 2
	LivePages   = 3
)

// LiveEvent is one event.
type LiveEvent struct {
	// EndNanos is when it was over, CLOCK_MONOTONIC.
	EndNanos uint64
	Duration time.Duration
	// Detail says what it was: of calls as in samples of Syscalls, of waits as in
	// those of OffCPU, of allocations LiveKmalloc and its like.
	Detail uint64
	// Result is what a call returned, or bytes.
	Result   int64
	PID, TID uint32
	// Comm is the name of the thread, Text a path or the name of a cache, and
	// Base the folder that a relative path begins at; all are raw bytes.
	Comm, Text, Base string
}

// CallTimes are the calls with one number since the stream began.
type CallTimes struct {
	Number uint32
	Compat bool // a number of 32-bit programs
	Count  uint64
	Time   time.Duration
	Errors uint64
	// Slots say how many calls took how long: slot i those from SlotStart(i) on.
	Slots []uint64
}

// Caller is a process that made calls with one number.
type Caller struct {
	PID    uint32
	Number uint32
	Compat bool
	Comm   string // of the thread that called first
	Count  uint64
	Time   time.Duration
}

// Stream tells of events while they happen. Only its Close may be called while
// another method runs.
type Stream struct {
	*Tracer
	reader *ringbuf.Reader // nil for StreamCalls
	record ringbuf.Record

	lost, missed uint64 // up to the last look
}

// streamHooks are the programs of a family.
func streamHooks(f Family) []hook {
	exit := hook{program: streamProgStreamThreadExit, event: "sched_process_exit", since: "5.5"}
	call := func(enter, leave string) []hook {
		return []hook{exit, {program: leave, event: "sys_exit", since: "5.5"}, {program: enter, event: "sys_enter", since: "5.5"}}
	}
	switch f {
	case StreamCalls:
		return call(streamProgStreamCallsEnter, streamProgStreamCallsExit)
	case StreamOpens:
		return call(streamProgStreamOpensEnter, streamProgStreamOpensExit)
	case StreamReads:
		return call(streamProgStreamReadsEnter, streamProgStreamReadsExit)
	case StreamWaits:
		return []hook{{program: streamProgStreamSwitch, event: "sched_switch", since: "5.5"}}
	case StreamAllocations:
		return []hook{
			{program: streamProgStreamKmalloc, event: "kmalloc", since: "5.5"},
			{program: streamProgStreamSlab, event: "kmem_cache_alloc", since: "6.1", optional: true},
			{program: streamProgStreamPages, event: "mm_page_alloc", since: "5.5"},
		}
	}
	return nil
}

// NewStream loads the programs of a family and attaches them. It fails as
// NewTracer does.
func NewStream(o StreamOptions, opts Options) (*Stream, error) {
	hooks := streamHooks(o.Family)
	if hooks == nil {
		return nil, fmt.Errorf("stream: there is no family %d", o.Family)
	}
	probe := &Probe{
		object: &object{name: "stream", spec: loadStream, variables: map[string]any{
			streamVarMinNs:      uint64(o.MinDuration),
			streamVarMinBytes:   o.MinBytes,
			streamVarPageBytes:  uint64(os.Getpagesize()),
			streamVarFailedOnly: o.FailedOnly,
		}},
		hooks: hooks,
		adapt: func(spec *ebpf.CollectionSpec, kernel *btf.Spec) error {
			return fitStream(spec, kernel, hooks, o.RingBytes)
		},
	}
	opts.MapEntries = minMapEntries // nothing is counted in them
	tracer, err := NewTracer(probe, opts)
	if err != nil {
		return nil, err
	}
	s := &Stream{Tracer: tracer}
	if o.Family == StreamCalls {
		return s, nil
	}
	if s.reader, err = ringbuf.NewReader(tracer.objects.programs.Maps[streamMapStream]); err != nil {
		return nil, errors.Join(fmt.Errorf("read events: %w", err), tracer.Close())
	}
	return s, nil
}

// fitStream leaves the programs of other families out.
func fitStream(spec *ebpf.CollectionSpec, kernel *btf.Spec, hooks []hook, ringBytes uint32) error {
	maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool {
		return !slices.ContainsFunc(hooks, func(h hook) bool { return h.program == name })
	})
	if ringBytes > 0 {
		spec.Maps[streamMapStream].MaxEntries = ringBytes
	}
	if !slabsHaveNames(kernel) {
		delete(spec.Programs, streamProgStreamSlab)
	}
	proto := tracepointType(kernel, "sched_switch")
	// One more than the arguments: the first is the tracepoint's own.
	return spec.Variables[streamVarHavePrevState].Set(proto != nil && len(proto.Params) > 4)
}

// slabsHaveNames tells whether kmem_cache_alloc has the cache as an argument:
// before 6.1 it has sizes there.
func slabsHaveNames(kernel *btf.Spec) bool {
	proto := tracepointType(kernel, "kmem_cache_alloc")
	if proto == nil || len(proto.Params) < 4 {
		return false
	}
	_, ok := btf.UnderlyingType(proto.Params[3].Type).(*btf.Pointer)
	return ok
}

// Read calls visit for each event that has happened, without waiting.
func (s *Stream) Read(visit func(*LiveEvent)) error {
	s.reader.SetDeadline(time.Now())
	for {
		err := s.reader.ReadInto(&s.record)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		var e LiveEvent
		if e.parse(s.record.RawSample) {
			visit(&e)
		}
	}
}

// Lost is how many events were lost since the last call. It costs less than
// Drain, which waits for all CPUs.
func (s *Stream) Lost() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errors.New("count what is lost: the stream is closed")
	}
	var all uint64
	var perCPU []ftStatsRow
	for generation := range uint32(2) {
		if err := s.objects.stats.Lookup(generation, &perCPU); err != nil {
			return 0, fmt.Errorf("count what is lost: %w", err)
		}
		for i := range perCPU {
			all += perCPU[i].LostCountsFull + perCPU[i].LostState + perCPU[i].LostScratch
		}
	}
	var stats Stats
	s.countMisses(&stats)
	s.missed += stats.LostRecursion
	all += s.missed
	lost := all - s.lost
	s.lost = all
	return lost, nil
}

// liveEventSize is the size of struct ft_event.
const liveEventSize = 72

// parse reads a struct ft_event and the texts behind it. Returns false if it is
// none, which the kernel does not send.
func (e *LiveEvent) parse(raw []byte) bool {
	if len(raw) < liveEventSize {
		return false
	}
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	e.EndNanos, e.Duration, e.Detail, e.Result = u64(raw), time.Duration(u64(raw[8:])), u64(raw[16:]), int64(u64(raw[24:]))
	e.PID, e.TID, e.Comm = u32(raw[40:]), u32(raw[44:]), cString(raw[48:64])
	text, base := uint64(u32(raw[64:])), uint64(u32(raw[68:]))
	texts := raw[liveEventSize:]
	if text+base > uint64(len(texts)) {
		return false
	}
	e.Text, e.Base = string(texts[:text]), string(texts[text:text+base])
	return true
}

// SlotStart is the shortest time that slot i of CallTimes counts; the last slot
// has no upper bound. Four slots double the time.
func SlotStart(i int) time.Duration {
	const firstBit = 6 // FT_FIRST_BIT
	if i == 0 {
		return 0
	}
	return time.Duration(math.Ldexp(1+float64(i%4)/4, firstBit+i/4))
}

const compatCall = 1 << 31 // FT_32BIT

// Calls returns what system calls were made since the stream began, and by whom.
func (s *Stream) Calls() (calls []CallTimes, callers []Caller, err error) {
	programs := s.objects.programs
	var number uint32
	var perCPU []streamFtCallTimes
	entries := programs.Maps[streamMapCallTimes].Iterate()
	for entries.Next(&number, &perCPU) {
		c := CallTimes{Number: number &^ compatCall, Compat: number&compatCall != 0, Slots: make([]uint64, len(perCPU[0].Slots))}
		for i := range perCPU {
			c.Count += perCPU[i].Count
			c.Time += time.Duration(perCPU[i].Ns)
			c.Errors += perCPU[i].Errors
			for k, n := range perCPU[i].Slots {
				c.Slots[k] += uint64(n)
			}
		}
		calls = append(calls, c)
	}
	if err := entries.Err(); err != nil {
		return nil, nil, fmt.Errorf("read system calls: %w", err)
	}
	var key streamFtCallerKey
	var value streamFtCaller
	entries = programs.Maps[streamMapCallers].Iterate()
	for entries.Next(&key, &value) {
		callers = append(callers, Caller{
			PID: key.Pid, Number: key.Call &^ compatCall, Compat: key.Call&compatCall != 0,
			Comm: cString(value.Comm[:]), Count: value.Count, Time: time.Duration(value.Ns),
		})
	}
	// An entry that gave way meanwhile ends the walk; the rest has its turn at the
	// next.
	if err := entries.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return nil, nil, fmt.Errorf("read who makes system calls: %w", err)
	}
	return calls, callers, nil
}

// Close ends the stream and releases everything. It may be called more than once.
func (s *Stream) Close() error {
	var err error
	if s.reader != nil {
		err = s.reader.Close()
	}
	return errors.Join(err, s.Tracer.Close())
}
