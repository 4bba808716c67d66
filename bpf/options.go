//go:build linux

package bpf

import (
	"fmt"
	"math/bits"
	"runtime"
	"time"
)

// Bounds of Options.Frequency in hertz.
const (
	MinFrequency = 1
	MaxFrequency = 9999
)

// Range is a range of kernel addresses [Start, End).
type Range struct {
	Start, End uint64
}

// Options sets up a Sampler.
type Options struct {
	// Frequency is how often each CPU is sampled, in hertz.
	Frequency int
	// DrainInterval is the longest time between two drains. It sizes the maps.
	DrainInterval time.Duration
	// PerThread keeps the threads of a process apart.
	PerThread bool
	// ByDuration keeps events of different length apart, see Sample.Length. Kinds
	// whose events take no time do not mind.
	ByDuration bool
	// MapEntries is the size of the map of counts; that of stack chunks has
	// four times as many. 0 means: enough for all samples of one drain
	// interval to differ.
	MapEntries int
	// IdleRanges returns the kernel's idle functions. Samples whose leaf lies in
	// one are idle. If there are none, samples of the idle task are. It is called
	// once, when the kernel has verified the program, before sampling begins. Nil
	// stands for none.
	IdleRanges func() []Range
	// FilterTargets leaves out every process that is not kept by SetTarget.
	// KeepUnknown says what happens to processes that SetTarget never named.
	FilterTargets bool
	KeepUnknown   bool
	// Tables are the unwind tables to walk user stacks with; nil means that
	// frame pointers are all there is. The sampler does not close them.
	Tables *Tables
	// OnTablesRefused is told why the kernel's verifier refused to walk by
	// tables; the sampler does without them then.
	OnTablesRefused func(error)
	// OnCallHooks is told where a kind that looks at some system calls sees them: at
	// the functions of the kernel that carry them out if refused is nil; else at
	// the tracepoints of all calls, because of refused. What is counted is the same.
	OnCallHooks func(refused error)
	// Without are tracepoints and functions that count as missing, as on another
	// kernel: for tests of a Tracer.
	Without []string
	// OnlineCPUs lists the CPUs to sample; nil means those that the kernel
	// says are online.
	OnlineCPUs func() ([]int, error)

	// fewChunks halves the room for stacks: events are counted for each detail,
	// so that many samples have the same one.
	fewChunks bool
	// features are what the kernel has; nil means: ask it.
	features func() (features, error)
}

// features are the switches of compat.h.
type features struct {
	loop     bool // bpf_loop, kernel 5.17
	taskRegs bool // bpf_task_pt_regs, kernel 5.15
}

const (
	minMapEntries = 2048
	maxMapEntries = 1 << 19
)

// mapEntries is a power of two, with room for twice the samples of a drain
// interval: a late drain must not lose anything.
func (o *Options) mapEntries() uint32 {
	if o.MapEntries > 0 {
		return uint32(o.MapEntries)
	}
	samples := 2 * float64(o.Frequency) * o.DrainInterval.Seconds() * float64(runtime.NumCPU())
	n := min(max(int(samples), minMapEntries), maxMapEntries)
	return 1 << bits.Len(uint(n-1))
}

// chunksPerSample: a sample has a chunk of the kernel's stack and one of the
// program's at least, and another for every 32 frames.
const chunksPerSample = 4

// chunkEntries is the size of the map of stack chunks.
func (o *Options) chunkEntries() uint32 {
	if o.fewChunks {
		return chunksPerSample / 2 * o.mapEntries()
	}
	return chunksPerSample * o.mapEntries()
}

func (o *Options) validate() error {
	if o.Frequency < MinFrequency || o.Frequency > MaxFrequency {
		return fmt.Errorf("frequency %d Hz is outside %d to %d", o.Frequency, MinFrequency, MaxFrequency)
	}
	return o.validateMaps()
}

func (o *Options) validateMaps() error {
	if o.DrainInterval <= 0 {
		return fmt.Errorf("drain interval %v is not positive", o.DrainInterval)
	}
	if o.MapEntries < 0 || o.MapEntries > maxMapEntries {
		return fmt.Errorf("map entries %d are outside 0 to %d", o.MapEntries, maxMapEntries)
	}
	return nil
}

// periodNanos is the CPU time that one sample stands for.
func (o *Options) periodNanos() uint64 {
	return uint64(time.Second) / uint64(o.Frequency)
}
