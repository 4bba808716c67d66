package live

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
)

const procRoot = "/proc"

// kernel is the part of package bpf that both sorts of sources use.
type kernel interface {
	Drain() ([]bpf.Sample, bpf.Stats, error)
	SetTarget(t bpf.Target, v bpf.Verdict) error
	IsTarget(t bpf.Target) (keep, known bool)
	Close() error
}

// Open begins to look.
func Open(o *Options) (Source, error) {
	if err := bpf.CheckPrivileges(); err != nil {
		return nil, err
	}
	opts := bpf.Options{DrainInterval: time.Second, FilterTargets: len(o.PIDs) > 0}
	if o.Family == Retransmits {
		return openRetransmits(o, opts)
	}
	family, ok := map[string]bpf.Family{
		Syscalls: bpf.StreamCalls, Opens: bpf.StreamOpens, Reads: bpf.StreamReads,
		OffCPU: bpf.StreamWaits, Allocations: bpf.StreamAllocations,
	}[o.Family]
	if !ok {
		return nil, errFamily(o.Family)
	}
	s, err := bpf.NewStream(bpf.StreamOptions{
		Family: family, MinDuration: o.MinDuration, MinBytes: o.MinBytes, FailedOnly: o.FailedOnly,
	}, opts)
	if err != nil {
		return nil, err
	}
	if err := setTargets(s, o.PIDs); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &stream{family: o.Family, stream: s, before: make(map[callKey]bpf.CallTimes), callers: make(map[callerKey]time.Duration)}, nil
}

// setTargets names processes and what they have started so far. From then on the
// kernel adds what they start.
func setTargets(k kernel, pids []int) error {
	for _, pid := range pids {
		if _, err := process.StartTicks(procRoot, uint32(pid)); err != nil {
			return fmt.Errorf("process %d does not exist", pid)
		}
		for added := true; added; {
			added = false
			family, err := process.Descendants(procRoot, uint32(pid))
			if err != nil {
				return fmt.Errorf("find the children of process %d: %w", pid, err)
			}
			for _, one := range append(family, uint32(pid)) {
				ticks, err := process.StartTicks(procRoot, one)
				if err != nil {
					continue // it ended meanwhile
				}
				target := bpf.Target{PID: one, StartTicks: ticks}
				if keep, _ := k.IsTarget(target); keep {
					continue
				}
				if err := k.SetTarget(target, bpf.Keep); err != nil {
					return err
				}
				added = true
			}
		}
	}
	return nil
}

// clock turns CLOCK_MONOTONIC into time of day.
type clock struct{ boot time.Time }

func newClock() clock {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // fails only for clocks that do not exist
	return clock{time.Now().Add(-time.Duration(now.Nano()))}
}

func (c clock) at(nanos uint64) time.Time { return c.boot.Add(time.Duration(nanos)) }
