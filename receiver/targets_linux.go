package receiver

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/identity"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// check tells which processes do not exist.
func (t *TargetsConfig) check(procRoot string) error {
	var errs []error
	for _, pid := range t.PIDs {
		if _, err := os.Stat(filepath.Join(procRoot, strconv.Itoa(pid))); err != nil {
			errs = append(errs, fmt.Errorf("process %d does not exist", pid))
		}
	}
	return errors.Join(errs...)
}

// targets decides which processes are profiled. The kernel filters by PID, and
// makes children of targets targets before they run. Which PIDs these are is
// decided here: at the start for targets::pids; for executables and cgroups
// when a process is first sampled, so that nothing of it is missed.
type targets struct {
	cfg      *TargetsConfig
	reviewed time.Time
	// turnedDown are the processes of which the kernel was told so in the last
	// drain, and in this one.
	turnedDown, now []turnedDown
}

// turnedDown is a process that is not a target, by what it ran when it was
// sampled.
type turnedDown struct {
	pid   uint32
	start uint64
}

func newTargets(cfg *TargetsConfig) *targets {
	return &targets{cfg: cfg, reviewed: time.Now()}
}

// filter tells whether there is anything to filter.
func (t *targets) filter() bool {
	return len(t.cfg.PIDs) > 0 || t.judges()
}

// judges tells whether processes that nobody named may be targets.
func (t *targets) judges() bool {
	return len(t.cfg.Executables) > 0 || len(t.cfg.Cgroups) > 0
}

// begin tells a source the targets that are known: the processes that were
// named and what they have started so far. From the first moment on the kernel
// adds what they start, so looking again until nothing is new misses none.
func (t *targets) begin(src source.Source) error {
	verdict := bpf.Keep
	if t.cfg.FromExec {
		verdict = bpf.KeepFromExec
	}
	for _, pid := range t.cfg.PIDs {
		if _, err := add(src, uint32(pid), verdict); err != nil {
			return err
		}
		for found := true; found; {
			found = false
			family, err := process.Descendants(procRoot, uint32(pid))
			if err != nil {
				return fmt.Errorf("find the children of process %d: %w", pid, err)
			}
			for _, child := range family {
				added, err := add(src, child, verdict)
				if err != nil {
					return err
				}
				found = found || added
			}
		}
	}
	return nil
}

// ended tells whether all processes that were named have ended, and what they
// have started as well. If others may become targets, there is no such end.
func (t *targets) ended(src source.Source) bool {
	if len(t.cfg.PIDs) == 0 || t.judges() {
		return false
	}
	runs := false
	err := src.EachTarget(func(target bpf.Target) bool {
		runs = process.Runs(procRoot, target.PID, target.StartTicks)
		return !runs
	})
	return err == nil && !runs
}

// add makes a running process a target unless it is one or has just ended.
func add(src source.Source, pid uint32, v bpf.Verdict) (added bool, err error) {
	ticks, err := process.StartTicks(procRoot, pid)
	if err != nil {
		return false, nil // it ended meanwhile: there is nothing to profile
	}
	target := bpf.Target{PID: pid, StartTicks: ticks}
	if keep, _ := src.IsTarget(target); keep {
		return false, nil
	}
	return true, src.SetTarget(target, v)
}

// wanted tells whether a sample is to be kept, and the kernel if that is asked
// for the first time.
func (t *targets) wanted(src source.Source, s *bpf.Sample, p process.Snapshot) bool {
	if !t.judges() {
		return true
	}
	target := bpf.TargetOf(s)
	if keep, known := src.IsTarget(target); known {
		return keep
	}
	keep, verdict := t.matches(p.Identity), bpf.Drop
	if keep {
		verdict = bpf.Keep
	}
	if !p.Ended {
		// A full map only means that the question comes again.
		_ = src.SetTarget(target, verdict)
		if !keep {
			t.now = append(t.now, turnedDown{s.PID, s.StartNanos})
		}
	}
	return keep
}

// reconsider looks again at the processes that were turned down in the drain
// before: one that did an exec between its sample and the verdict is another
// program by now, and the kernel forgot no verdict then.
func (t *targets) reconsider(r *process.Registry, sources []source.Source) error {
	var errs []error
	for _, d := range t.turnedDown {
		id, ok := r.Now(d.pid, d.start)
		if !ok || !t.matches(id) {
			continue
		}
		target := bpf.TargetOf(&bpf.Sample{PID: d.pid, StartNanos: d.start})
		for _, src := range sources {
			if keep, known := src.IsTarget(target); known && !keep {
				errs = append(errs, src.SetTarget(target, bpf.Keep))
			}
		}
	}
	t.turnedDown, t.now = t.now, t.turnedDown[:0]
	return errors.Join(errs...)
}

func (t *targets) matches(id *window.Process) bool {
	for _, glob := range t.cfg.Executables {
		if ok, _ := path.Match(glob, path.Base(id.ExecutablePath)); ok && id.ExecutablePath != "" {
			return true
		}
	}
	for _, c := range t.cfg.Cgroups {
		if inCgroup(id, c) {
			return true
		}
	}
	return false
}

// inCgroup: c is a path in any hierarchy, or the beginning of a container ID. With
// version 1 a process may have another path for each controller.
func inCgroup(id *window.Process, c string) bool {
	if !strings.HasPrefix(c, "/") {
		return strings.HasPrefix(id.ContainerID, c)
	}
	return identity.InCgroup(id.Cgroups, strings.TrimSuffix(c, "/"))
}

// reviewInterval is how often processes that were turned down get another
// look: they may have been moved to a cgroup that is profiled.
const reviewInterval = 5 * time.Second

func (t *targets) review(r *process.Registry, sources []source.Source) error {
	if len(t.cfg.Cgroups) == 0 || time.Since(t.reviewed) < reviewInterval {
		return nil
	}
	t.reviewed = time.Now()
	var errs []error
	r.Each(func(id *window.Process) {
		target := bpf.TargetOf(&bpf.Sample{PID: uint32(id.PID), StartNanos: id.StartNanos})
		for _, src := range sources {
			keep, known := src.IsTarget(target)
			if known && !keep && t.matches(id) {
				errs = append(errs, src.SetTarget(target, bpf.Keep))
			}
		}
	})
	return errors.Join(errs...)
}
