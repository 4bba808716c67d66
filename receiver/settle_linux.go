package receiver

import (
	"time"

	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/window"
)

// settlePatience bounds how long the end of a window waits for names that come
// late. It delays the next drain, for which the kernel's maps have room.
const settlePatience = 500 * time.Millisecond

// forgetAfter is how long symbols are kept that no stack needs. Names of a window
// are kept by the window.
const forgetAfter = 3 * time.Minute

// Settle gives frames of generated code the names that their runtimes have
// written since they were sampled, also those that do so when they end.
func (h *hostSource) Settle(w *window.Window) {
	defer h.symbolizer.Forget(forgetAfter)
	names := h.symbolizer.Settle(settlePatience)
	w.Rename(names)
	h.adviser.settle(names)
	h.adviser.refused(h.symbolizer.Stats().PerfMapsRefused)
}

// mapAdvice says what can be done about perf maps that are not read, by the
// reason in the symbolizer's counters.
var mapAdvice = map[string]string{
	"too_big":            "It has more names than are held. The newest are; have the runtime list fewer.",
	"foreign_owner":      "It belongs to neither the user of the process nor root, and could name code wrongly.",
	"older_than_process": "It is left over from an earlier process of the same PID. Delete it.",
	"not_a_regular_file": "Only regular files are read, no links either.",
	"permission_denied":  "Grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH.",
}

// refused says once for each reason that perf maps were not read.
func (a *adviser) refused(counts map[string]uint64) {
	for reason, n := range counts {
		if n == 0 || a.said["map "+reason] {
			continue
		}
		a.said["map "+reason] = true
		a.log.Warn("A perf map, which names generated code, was not read or not in full.",
			zap.String("reason", reason), zap.String("advice", mapAdvice[reason]))
	}
}
