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

// drainer empties the kernel's maps. It keeps its buffers from one drain to
// the next.
type drainer struct {
	objects *objects
	epoch   uint32          // what programs read as generation; its low bit is the half of the maps
	began   time.Time       // when counting into the current generation began
	before  [2][]ftStatsRow // counters of each generation when last drained, by CPU

	keys   []profileFtCountKey
	counts []profileFtCount
	ids    []uint64
	chunks []profileFtChunk

	// cut counts what is under way into a generation that is over; nil for
	// kinds whose samples take no time. It calls use.
	cut func(generation uint32) error
	// more adds samples that a kind counts in a way of its own; nil for none.
	more func(epoch uint32, dst []Sample) ([]Sample, error)
	// kept are chunks of earlier drains that samples to come may refer to, and
	// drains numbers the drains.
	kept   map[uint64]*keptChunk
	drains uint64

	stacks  map[uint64]chunk
	arena   []uint64 // the words of all chunks, then those of all stacks
	samples []Sample
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
	d := &s.drainer
	stats, taken, err := d.drain()
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
	if stats.Restarted, err = s.restartStopped(taken, stats.To.Sub(stats.From)); err != nil {
		return d.samples, stats, fmt.Errorf("restart the clock of a CPU: %w", err)
	}
	return d.samples, stats, nil
}

// drain returns the counters, and what each CPU has taken since the start.
func (d *drainer) drain() (Stats, []uint64, error) {
	old := d.epoch & 1
	stats := Stats{From: d.began}
	if err := d.objects.generation.Set(d.epoch + 1); err != nil {
		return stats, nil, fmt.Errorf("flip the generation: %w", err)
	}
	d.epoch++
	waitForPrograms()
	stats.To = time.Now()
	d.began = stats.To
	d.drains++
	if d.cut != nil {
		if err := d.cut(old); err != nil {
			return stats, nil, err
		}
	}

	taken, err := d.readStats(old, &stats)
	if err != nil {
		return stats, nil, err
	}
	d.arena = d.arena[:0]
	d.samples = d.samples[:0]
	clear(d.stacks)
	nChunks, err := d.takeChunks(d.objects.chunks[old])
	if err != nil {
		return stats, nil, err
	}
	if d.cut != nil {
		d.keepChunks()
	}
	nCounts, err := d.takeCounts(d.objects.counts[old])
	if err != nil {
		return stats, nil, err
	}
	if d.more != nil {
		if d.samples, err = d.more(d.epoch-1, d.samples); err != nil {
			return stats, nil, err
		}
	}
	stats.StacksUsed = float64(nChunks) / float64(d.objects.chunks[old].MaxEntries())
	stats.CountsUsed = float64(nCounts) / float64(d.objects.counts[old].MaxEntries())
	return stats, taken, nil
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

// readStats adds to stats what the generation counted since it was last
// drained.
func (d *drainer) readStats(generation uint32, stats *Stats) ([]uint64, error) {
	var rows []ftStatsRow
	if err := d.objects.stats.Lookup(generation, &rows); err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	taken := make([]uint64, len(rows))
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
	d.before[generation] = rows
	return taken, nil
}

func (d *drainer) takeChunks(m *ebpf.Map) (int, error) {
	total := 0
	err := takeAll(m, d.ids, d.chunks, func(n int) {
		total += n
		for i := range n {
			c := &d.chunks[i]
			from := len(d.arena)
			d.arena = append(d.arena, c.Words[:min(int(c.Len), len(c.Words))]...)
			d.stacks[d.ids[i]] = chunk{parent: c.Parent, from: from, to: len(d.arena)}
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
			d.samples = append(d.samples, Sample{
				PID:        k.Pid,
				TID:        k.Tid,
				StartNanos: k.StartNs,
				Comm:       k.Comm,
				User:       d.stack(k.UserStack),
				Kernel:     d.stack(k.KernelStack),
				Flags:      SampleFlags(k.Flags & (1<<endShift - 1)),
				End:        StackEnd(k.Flags >> endShift),
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
		return d.arena[c.from:c.to:c.to]
	}
	from := len(d.arena)
	for {
		d.arena = append(d.arena, d.arena[c.from:c.to]...)
		if c, ok = d.stacks[c.parent]; !ok {
			return d.arena[from:len(d.arena):len(d.arena)]
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
