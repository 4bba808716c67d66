package receiver

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/receiver"

	"github.com/flametel/flametel/receiver/internal/window"
)

// pipelineSource takes samples and names them: all kinds that are configured,
// from the kernel to resolved frames. Its methods are called one at a time, in
// the order Start, any number of Drain and Settle, Stop, Drain, Settle, Close.
type pipelineSource interface {
	// Start begins to sample. It returns fast, does not keep ctx and leaves
	// nothing behind when it fails.
	Start(ctx context.Context) error
	// Drain empties the kernel's maps into w and counts in the tallies of w
	// what became of all samples taken since the last call.
	Drain(ctx context.Context, w *window.Window) (drainStats, error)
	// Settle gives frames in w names that came late, before w is closed.
	Settle(w *window.Window)
	// Stop ends sampling. What was taken until then can still be drained. It
	// alone may be called while another method runs.
	Stop() error
	// Close releases everything, in the kernel too. It may come without Stop.
	Close() error
}

// newSourceFunc makes a source that has not started.
type newSourceFunc func(set receiver.Settings, cfg *Config) (pipelineSource, error)

// drainStats are the facts about a source that belong to no kind.
type drainStats struct {
	// The samples of this drain were taken from Since to Until, where those of
	// the next one begin: naming them takes a while. Zero means since the last
	// Drain or Start, and when Drain returned.
	Since, Until time.Time
	// Processes is the number of processes tracked at present.
	Processes int
	// EventsLost counts process events that the kernel dropped since the last
	// drain.
	EventsLost uint64
	// UnwindFiles is how many files have their unwind table loaded, and
	// UnwindEvicted how many had to give way, or found no room, since the last
	// drain.
	UnwindFiles   int
	UnwindEvicted uint64
	// UnwindUsage is the fill of the pools of unwind tables, from 0 to 1.
	UnwindUsage map[string]float64
	// MapUsage is the fill of each kernel map when it was emptied, from 0 to 1.
	MapUsage map[string]float64
}
