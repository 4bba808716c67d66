package bpf

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// batchSize is how many map entries one system call returns: large enough to
// make calls rare, small enough for the buffers (272 KiB of chunks).
const batchSize = 1024

// drainer empties the kernel's maps, once for each drain or, when they fill up,
// sooner. It keeps its buffers from one drain to the next.
type drainer struct {
	objects *objects
	epoch   uint32          // what programs read as generation; its low bit is the half of the maps
	began   time.Time       // when counting into the current generation began
	before  [2][]ftStatsRow // counters of each generation when last emptied, by CPU
	made    entriesMade     // when the current generation began

	keys   []profileFtCountKey
	counts []profileFtCount
	ids    []uint64
	chunks []profileFtChunk

	// cut counts what is under way, up to a time (CLOCK_MONOTONIC), into a
	// generation that is over; nil for kinds whose samples take no time. It calls use.
	cut func(generation uint32, nanos uint64) error
	// more adds samples that a kind counts in a way of its own; nil for none.
	more func(epoch uint32, dst []Sample) ([]Sample, error)
	// kept are chunks of earlier times that samples to come may refer to, and
	// takes numbers the times that the maps were emptied.
	kept  map[uint64]*keptChunk
	takes uint64

	stacks map[uint64]chunk // of this time
	// taken is what the next drain will give, given what the last one gave.
	taken, given haul
}

// haul is what was taken out of the kernel between two drains.
type haul struct {
	arena   []uint64 // the words of all chunks, then those of all stacks
	samples []Sample
	stats   Stats
	byCPU   []uint64 // what each CPU has taken since the start
}

// entriesMade is entries_made of maps.h.
type entriesMade struct {
	Counts, Chunks uint64
	_              [6]uint64
}

// ftStatsRow are the counters of one CPU.
type ftStatsRow = profileFtStats

// chunk is a part of a stack: arena[from:to] and what lies on its root side.
type chunk struct {
	parent   uint64
	from, to int
}

func newDrainer(o *objects) drainer {
	return drainer{
		objects: o,
		began:   time.Now(),
		keys:    make([]profileFtCountKey, batchSize),
		counts:  make([]profileFtCount, batchSize),
		ids:     make([]uint64, batchSize),
		chunks:  make([]profileFtChunk, batchSize),
		stacks:  make(map[uint64]chunk),
	}
}

// Drain takes all samples out of the kernel and starts a new count. The
// samples stay valid until the next call.
func (s *Sampler) Drain() ([]Sample, Stats, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, Stats{}, errors.New("drain: the sampler is closed")
	}
	drained, err := s.drainer.drain()
	stats := drained.stats
	stats.CPUs = len(s.clocks)
	if !s.stoppedAt.IsZero() {
		stats.CPUs = s.stopped
		if s.stoppedAt.Before(stats.To) && s.stoppedAt.After(stats.From) {
			stats.To = s.stoppedAt
		}
	}
	if lost, e := s.objects.childrenLost(); e == nil {
		stats.ChildrenLost, s.childrenLost = lost-s.childrenLost, lost
	}
	if err != nil {
		return nil, stats, fmt.Errorf("drain: %w", err)
	}
	if stats.Restarted, err = s.restartStopped(drained.byCPU, stats.To.Sub(stats.From)); err != nil {
		return drained.samples, stats, fmt.Errorf("restart the clock of a CPU: %w", err)
	}
	return drained.samples, stats, nil
}

// Relieve is Tracer.Relieve for samples.
func (s *Sampler) Relieve() error {
	if !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if err := s.drainer.relieve(); err != nil {
		return fmt.Errorf("relieve the maps: %w", err)
	}
	return nil
}

// drain empties the maps and hands over what was taken since the last drain. It
// is valid until the next one.
func (d *drainer) drain() (*haul, error) {
	err := d.take()
	d.taken, d.given = d.given, d.taken
	d.taken.arena, d.taken.samples, d.taken.stats = d.taken.arena[:0], d.taken.samples[:0], Stats{}
	return &d.given, err
}

const (
	// relieveAt is the fill of a map from which on it is emptied before the drain
	// is due. What is left has to last until somebody looks at it again.
	relieveAt = 0.25
	// maxTaken is how many samples may wait for the drain: what comes then stays in
	// the kernel, and is lost there when the maps are full.
	maxTaken = 1 << 16
)

// relieve empties the maps if they fill up.
func (d *drainer) relieve() error {
	if len(d.taken.samples) >= maxTaken {
		return nil
	}
	counts, chunks, err := d.fill()
	if err != nil || max(counts, chunks) < relieveAt {
		return err
	}
	return d.take()
}

// fill is how full the maps are that programs write to, 0 to 1.
func (d *drainer) fill() (counts, chunks float64, err error) {
	var now entriesMade
	if err := d.objects.programs.Variables[profileVarEntriesMade].Get(&now); err != nil {
		return 0, 0, fmt.Errorf("read the fill of the maps: %w", err)
	}
	share := func(now, began uint64, m *ebpf.Map) float64 {
		return min(1, float64(now-began)/float64(m.MaxEntries()))
	}
	return share(now.Counts, d.made.Counts, d.objects.counts[0]), share(now.Chunks, d.made.Chunks, d.objects.chunks[0]), nil
}

// take turns programs to the other half of the maps and empties the one that
// they have written to.
func (d *drainer) take() error {
	old, stats := d.epoch&1, &d.taken.stats
	if stats.From.IsZero() {
		stats.From = d.began
	}
	if err := d.objects.generation.Set(d.epoch + 1); err != nil {
		return fmt.Errorf("flip the generation: %w", err)
	}
	d.epoch++
	if err := d.objects.programs.Variables[profileVarEntriesMade].Get(&d.made); err != nil {
		return fmt.Errorf("read the fill of the maps: %w", err)
	}
	waitForPrograms()
	d.began = time.Now()
	cut := monotonicNanos() // the same moment: what is under way is split there
	stats.To = d.began
	d.takes++
	if d.cut != nil {
		if err := d.cut(old, cut); err != nil {
			return err
		}
	}
	if err := d.readStats(old, &d.taken); err != nil {
		return err
	}
	clear(d.stacks)
	nChunks, err := d.takeChunks(d.objects.chunks[old])
	if err != nil {
		return err
	}
	if d.cut != nil {
		d.keepChunks()
	}
	nCounts, err := d.takeCounts(d.objects.counts[old])
	if err != nil {
		return err
	}
	if d.more != nil {
		if d.taken.samples, err = d.more(d.epoch-1, d.taken.samples); err != nil {
			return err
		}
	}
	stats.StacksUsed = max(stats.StacksUsed, float64(nChunks)/float64(d.objects.chunks[old].MaxEntries()))
	stats.CountsUsed = max(stats.CountsUsed, float64(nCounts)/float64(d.objects.counts[old].MaxEntries()))
	return nil
}

// waitForPrograms returns when every program that saw the old generation has
// ended: programs run inside RCU read sections, and this system call waits for
// all of those (kernel/sched/membarrier.c). Kernels with nohz_full refuse it;
// a sampling program runs for microseconds.
func waitForPrograms() {
	const global = 1 // MEMBARRIER_CMD_GLOBAL
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
		time.Sleep(5 * time.Millisecond)
	}
}

// readStats adds what the generation counted since it was last emptied.
func (d *drainer) readStats(generation uint32, to *haul) error {
	var rows []ftStatsRow
	if err := d.objects.stats.Lookup(generation, &rows); err != nil {
		return fmt.Errorf("read counters: %w", err)
	}
	taken, stats := make([]uint64, len(rows)), &to.stats
	for cpu := range rows {
		now := &rows[cpu]
		var before ftStatsRow
		if d.before[generation] != nil {
			before = d.before[generation][cpu]
		}
		stats.Taken += now.Taken - before.Taken
		stats.Kept += now.Kept - before.Kept
		stats.Idle += now.Idle - before.Idle
		stats.Filtered += now.Filtered - before.Filtered
		stats.LostCountsFull += now.LostCountsFull - before.LostCountsFull
		stats.LostStacksFull += now.LostStacksFull - before.LostStacksFull
		stats.LostScratch += now.LostScratch - before.LostScratch
		stats.LostState += now.LostState - before.LostState
		stats.UserTruncated += now.UserTruncated - before.UserTruncated
		stats.KernelTruncated += now.KernelTruncated - before.KernelTruncated
		stats.Missed += now.Missed - before.Missed
		stats.MissedIdle += now.MissedIdle - before.MissedIdle
		taken[cpu] = now.Taken
		if other := d.before[1-generation]; other != nil {
			taken[cpu] += other[cpu].Taken
		}
	}
	d.before[generation], to.byCPU = rows, taken
	return nil
}

func (d *drainer) takeChunks(m *ebpf.Map) (int, error) {
	total := 0
	err := takeAll(m, d.ids, d.chunks, func(n int) {
		total += n
		for i := range n {
			c := &d.chunks[i]
			from := len(d.taken.arena)
			d.taken.arena = append(d.taken.arena, c.Words[:min(int(c.Len), len(c.Words))]...)
			d.stacks[d.ids[i]] = chunk{parent: c.Parent, from: from, to: len(d.taken.arena)}
		}
	})
	if err != nil {
		return total, fmt.Errorf("take stacks: %w", err)
	}
	return total, nil
}

func (d *drainer) takeCounts(m *ebpf.Map) (int, error) {
	total := 0
	err := takeAll(m, d.keys, d.counts, func(n int) {
		total += n
		for i := range n {
			k := &d.keys[i]
			d.taken.samples = append(d.taken.samples, Sample{
				PID:        k.Pid,
				TID:        k.Tid,
				StartNanos: k.StartNs,
				Comm:       k.Comm,
				User:       d.stack(k.UserStack),
				Kernel:     d.stack(k.KernelStack),
				Flags:      SampleFlags(k.Flags & (1<<endShift - 1)),
				End:        StackEnd(k.Flags >> endShift),
				Exec:       uint16(k.Flags >> execShift),
				Count:      d.counts[i].Count,
				LastNanos:  d.counts[i].LastNs,
				Context:    k.Context,
				Detail:     k.Detail,
				Record:     d.stack(k.Record),
				RecordID:   k.Record,
				Sums:       d.counts[i].Sums,
				Slot:       k.Slot,
			})
		}
	})
	if err != nil {
		return total, fmt.Errorf("take counts: %w", err)
	}
	return total, nil
}

// stack puts the chunks of a stack together, leaf first. Chunks were taken
// before counts and nothing writes to either, so all of them are there. A
// stack of one chunk is not copied.
func (d *drainer) stack(id uint64) []uint64 {
	c, ok := d.stacks[id]
	if !ok {
		return nil
	}
	if c.parent == 0 {
		return d.taken.arena[c.from:c.to:c.to]
	}
	from := len(d.taken.arena)
	for {
		d.taken.arena = append(d.taken.arena, d.taken.arena[c.from:c.to]...)
		if c, ok = d.stacks[c.parent]; !ok {
			return d.taken.arena[from:len(d.taken.arena):len(d.taken.arena)]
		}
	}
}

// takeAll removes every entry of m and calls visit for each batch, which finds
// n entries in the two slices.
func takeAll[K, V any](m *ebpf.Map, keys []K, values []V, visit func(n int)) error {
	var cursor ebpf.MapBatchCursor
	for {
		n, err := m.BatchLookupAndDelete(&cursor, keys, values, nil)
		if n > 0 {
			visit(n)
		}
		if errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
