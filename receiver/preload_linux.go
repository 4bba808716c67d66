package receiver

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cilium/ebpf"
	"go.uber.org/zap"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
)

const (
	// preloadPatience bounds how long sampling waits for unwind tables. Those of
	// most programs are loaded while the kernel verifies ours.
	preloadPatience = 200 * time.Millisecond
	// On a whole host the tables of a few processes are loaded before they are
	// sampled: those with most CPU time, as far as they have used some.
	mostPreloaded = 16
	busyCPUTime   = 100 * time.Millisecond
)

// preloading is what goes on before sampling begins. The channels are closed when new
// programs are followed, and when the tables of those that run are loaded.
type preloading struct{ followed, loaded chan struct{} }

// preload follows new programs and loads the unwind tables of processes that run
// already, in the background.
func (h *hostSource) preload() *preloading {
	p := &preloading{make(chan struct{}), make(chan struct{})}
	u := &h.unwinding
	if u.manager == nil {
		close(p.followed)
		close(p.loaded)
		return p
	}
	h.background.Go(func() {
		defer close(p.loaded)
		u.followExecs()
		close(p.followed)
		running, err := u.tables.Running()
		if err == nil {
			err = u.manager.Preload(h.stop, h.likely(running))
		}
		if err != nil && !errors.Is(err, ebpf.ErrNotSupported) {
			h.log.Warn("Programs that run already get their unwind tables at their first sample, which has no complete stack.", zap.Error(err))
		}
	})
	return p
}

// await waits until no program begins unseen, and for the tables of the processes
// that were named; all others are sampled already.
func (h *hostSource) await(p *preloading) {
	<-p.followed
	if len(h.cfg.Targets.PIDs) == 0 {
		return
	}
	select {
	case <-p.loaded:
	case <-time.After(preloadPatience):
	}
}

// likely chooses the processes that will be sampled, in the order given. Who else
// is a target is found out at their first sample.
func (h *hostSource) likely(running []bpf.Running) (list []bpf.SpaceRequest) {
	named := h.family()
	if h.targets.judges() && len(named) == 0 {
		return nil
	}
	for _, r := range running {
		switch {
		case len(named) > 0 && !named[r.PID], isOurs(r.PID):
			continue
		case len(named) == 0 && (len(list) == mostPreloaded || r.CPUTime < busyCPUTime):
			return list
		}
		list = append(list, r.SpaceRequest)
	}
	return list
}

// family returns the processes that were named and their descendants.
func (h *hostSource) family() map[uint32]bool {
	named := make(map[uint32]bool)
	for _, pid := range h.cfg.Targets.PIDs {
		named[uint32(pid)] = true
		children, err := process.Descendants(procRoot, uint32(pid))
		if err != nil {
			continue // targets.begin says so
		}
		for _, child := range children {
			named[child] = true
		}
	}
	return named
}

// isOurs tells whether a process runs this program: this one, and the one that
// waits to become the command that is recorded.
func isOurs(pid uint32) bool {
	ours, err := os.Stat(filepath.Join(procRoot, "self/exe"))
	if err != nil {
		return false
	}
	other, err := os.Stat(filepath.Join(procRoot, strconv.FormatUint(uint64(pid), 10), "exe"))
	return err == nil && os.SameFile(ours, other)
}
