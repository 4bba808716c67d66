//go:build linux

// Package lockcontention is the profile kind that shows where threads wait for
// locks: their own, which are futexes, and the kernel's.
package lockcontention

import (
	"fmt"
	"strings"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// keyLock says what sort of lock it was.
const keyLock = "flametel.lock.type"

// New returns a source that has not started.
func New(o bpf.LockOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name:        "lock_contention",
			SampleTypes: []source.ValueType{{Type: "waits", Unit: "count"}, {Type: "wait_time", Unit: "nanoseconds"}},
			Estimated:   1,
			Metrics: []source.Metric{
				{Metric: metadata.FlametelLockWaitTime, Value: 1},
				{Metric: metadata.FlametelLockWaits, Value: 0},
			},
		},
		Probe:    bpf.LockContention(o),
		Values:   values,
		Estimate: estimate,
		Describe: describe,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	waits := s.Sums[1]
	if s.Detail&bpf.LockKernel != 0 {
		waits = s.Count
	}
	return append(dst, int64(waits), int64(s.Sums[0]))
}

// estimate is about waits for locks of programs: those of the kernel are all counted.
func estimate(s *bpf.Sample) source.Estimate {
	if s.Detail&bpf.LockKernel != 0 {
		return source.Estimate{Events: float64(s.Count), Sum: float64(s.Sums[0])}
	}
	return event.EstimateWaits(s)
}

func describe(s *bpf.Sample) event.Description {
	lock := futex(s.Detail)
	if s.Detail&bpf.LockKernel != 0 {
		lock = kernelLock(uint32(s.Detail))
	}
	return event.One("lock:"+lock, source.Label{Key: keyLock, Text: lock})
}

// futexOps are the names of the operations that wait, by their numbers in
// include/uapi/linux/futex.h. Condition variables of the C library wait with a
// bit set, its mutexes without.
var futexOps = map[uint64]string{
	0:  "wait",
	6:  "lock_pi",
	9:  "wait_bitset",
	11: "wait_requeue_pi",
	13: "lock_pi2",
}

func futex(detail uint64) string {
	op := detail >> bpf.LockFutexOpShift & bpf.LockFutexOpMask
	name, ok := futexOps[op]
	if !ok {
		name = fmt.Sprintf("op_%d", op)
	}
	return "futex " + name
}

// The flags of a kernel lock, include/trace/events/lock.h.
const (
	flagSpin = 1 << iota
	flagRead
	flagWrite
	flagRT
	flagPerCPU
	flagMutex
)

func kernelLock(flags uint32) string {
	var words []string
	switch {
	case flags&flagMutex != 0:
		return "mutex"
	case flags&flagPerCPU != 0:
		words = append(words, "percpu_rwsem")
	case flags&flagRT != 0:
		words = append(words, "rtmutex")
	case flags&flagSpin != 0 && flags&(flagRead|flagWrite) == 0:
		return "spinlock"
	case flags&flagSpin != 0:
		words = append(words, "rwlock")
	case flags&(flagRead|flagWrite) != 0:
		words = append(words, "rwsem")
	default:
		return "semaphore"
	}
	if flags&flagRead != 0 {
		words = append(words, "read")
	}
	if flags&flagWrite != 0 {
		words = append(words, "write")
	}
	return strings.Join(words, " ")
}
