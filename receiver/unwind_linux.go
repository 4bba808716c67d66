package receiver

import (
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/unwindtable"
)

// unwinding is the unwind tables in the kernel and what keeps them up to date.
// Without tables it does nothing.
type unwinding struct {
	log     *zap.Logger
	tables  *bpf.Tables // nil if there are none
	manager *unwindtable.Manager
	evicted uint64 // up to the last drain
}

// averageRows is how many rows a mapping has at least, as a rule: it sizes the
// pool of mappings after that of rows.
const averageRows = 32

// open makes the tables if they are configured. A kernel that does not take
// them costs complete stacks, not the profile.
func (u *unwinding) open(h *hostSource) {
	u.log = h.log
	if !h.cfg.Unwind.Tables {
		return
	}
	rows := h.cfg.Unwind.MaxTableMiB << 20 / 8
	tables, err := bpf.NewTables(rows, rows/averageRows)
	if err != nil {
		u.refused(err)
		return
	}
	u.tables = tables
	u.manager = unwindtable.New(unwindtable.Options{
		Kernel:    tables,
		Processes: h.registry,
		Files:     h.symbolizer,
		Refresh:   h.applyEvents,
		Wanted:    h.profiled,
		ColdAfter: 3 * max(h.cfg.DrainInterval, time.Second), // three drains see what is hot
		Now:       monotonic,
	})
}

// followExecs makes new programs ask for their tables. The kernel verifies for a
// while what that needs: other programs are loaded meanwhile.
func (u *unwinding) followExecs() {
	if err := u.tables.FollowExecs(); err != nil {
		u.log.Warn("New programs get their unwind tables at their first sample, which has no complete stack.", zap.Error(err))
	}
}

// profiled tells whether a process is a target, or may become one.
func (h *hostSource) profiled(r bpf.SpaceRequest) bool {
	if !h.targets.filter() {
		return true
	}
	target := bpf.TargetOf(&bpf.Sample{PID: r.PID, StartNanos: r.StartNanos})
	for _, src := range h.sources {
		if keep, known := src.IsTarget(target); keep || !known && h.targets.judges() {
			return true
		}
	}
	return false
}

// refused says that stacks are walked by frame pointers.
func (u *unwinding) refused(err error) {
	u.log.Warn("The kernel does not take unwind tables: stacks of code without frame pointers are cut. "+
		"Set unwind::tables to false to do without them silently.", zap.Error(err))
}

func monotonic() uint64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails only for clocks that do not exist
	return uint64(t.Nano())
}

// follow starts the background work.
func (u *unwinding) follow(background *sync.WaitGroup, stop <-chan struct{}) {
	if u.manager == nil {
		return
	}
	background.Go(func() {
		if err := u.manager.Listen(); err != nil {
			u.log.Error("New processes get no unwind tables any more.", zap.Error(err))
		}
	})
	background.Go(func() {
		var once sync.Once
		u.manager.Run(stop, func(err error) {
			once.Do(func() { u.log.Error("Unwind tables could not be brought up to date.", zap.Error(err)) })
		})
	})
}

// changed says that processes have changed.
func (u *unwinding) changed() {
	if u.manager != nil {
		u.manager.Changed()
	}
}

// account adds what there is to say of the tables to the facts of a drain.
func (u *unwinding) account(stats *drainStats) {
	if u.manager == nil {
		return
	}
	s := u.manager.Stats()
	evicted := s.Evicted + s.Refused + s.MappingsRefused
	stats.UnwindFiles = s.Files
	stats.UnwindEvicted, u.evicted = evicted-u.evicted, evicted
	stats.UnwindUsage = map[string]float64{
		"unwind.rows":     float64(s.Rows) / float64(s.RowsMax),
		"unwind.mappings": float64(s.Mappings) / float64(s.MappingsMax),
	}
}

// interrupt ends Listen, so that the background work can be waited for.
func (u *unwinding) interrupt() error {
	if u.tables == nil {
		return nil
	}
	return u.tables.Interrupt()
}

// close releases the tables; what the kernel's programs hold of them goes with
// the programs.
func (u *unwinding) close() error {
	if u.tables == nil {
		return nil
	}
	return u.tables.Close()
}
