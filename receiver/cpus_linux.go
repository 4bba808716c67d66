package receiver

import (
	"errors"
	"sync"

	"go.uber.org/zap"

	"github.com/flametel/flametel/bpf"
)

// cpuFollower notices CPUs that come and go. The kernel says so at once; each
// drain looks as well, for where the kernel is not heard.
type cpuFollower struct {
	hotplug *bpf.Hotplug // nil if there is none

	mu     sync.Mutex
	known  string // list of CPUs
	failed bool
}

// followCPUs starts the background work. What runs on a CPU before it is noticed is
// neither sampled nor followed.
func (h *hostSource) followCPUs() {
	hotplug, err := bpf.NewHotplug()
	if err != nil {
		h.log.Debug("CPUs that come online are noticed at each drain only.", zap.Error(err))
		return
	}
	h.cpus.hotplug = hotplug
	h.background.Go(func() {
		if err := hotplug.Run(h.syncCPUs); err != nil {
			h.log.Debug("CPUs that come online are noticed at each drain only.", zap.Error(err))
		}
	})
}

// syncCPUs lets all sources follow if the list of CPUs has changed.
func (h *hostSource) syncCPUs() {
	f := &h.cpus
	f.mu.Lock()
	defer f.mu.Unlock()
	online, err := bpf.OnlineCPUList()
	if err == nil && online == f.known {
		return
	}
	f.known = online
	err = errors.Join(err, h.events.SyncCPUs())
	for _, src := range h.sources {
		err = errors.Join(err, src.SyncCPUs())
	}
	if err != nil && !f.failed {
		h.log.Error("CPUs that come and go could not be followed.", zap.Error(err))
	}
	if f.failed = err != nil; f.failed {
		f.known = "" // try again
	}
}

func (f *cpuFollower) close() {
	if f.hotplug != nil {
		f.hotplug.Close()
	}
}
