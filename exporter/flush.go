package exporter

import (
	"errors"
	"sync"

	"go.opentelemetry.io/collector/exporter"

	"github.com/flametel/flametel/exporter/svg"
)

// A Flusher makes exporters write at any moment what they have collected so far,
// for programs that run them without a collector. It is safe for concurrent use.
type Flusher struct {
	// Facts is what SVGs and pprof files say about their origin beside the version
	// of the program. It must be set before exporters are made.
	Facts []svg.Fact

	mu      sync.Mutex
	running []*fileExporter
}

// Factory returns a factory like that of NewFactory, of whose exporters the
// Flusher takes care.
func (f *Flusher) Factory() exporter.Factory { return newFactory(f) }

// Flush writes the file of each running exporter and lets it go on collecting
// for the same file. Standard output cannot be replaced and is left alone.
func (f *Flusher) Flush() error {
	f.mu.Lock()
	running := append([]*fileExporter(nil), f.running...)
	f.mu.Unlock()
	var errs []error
	for _, e := range running {
		if e.template != nil {
			errs = append(errs, e.write(flush))
		}
	}
	return errors.Join(errs...)
}

func (f *Flusher) add(e *fileExporter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = append(f.running, e)
}

func (f *Flusher) remove(e *fileExporter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.running {
		if f.running[i] == e {
			f.running = append(f.running[:i:i], f.running[i+1:]...)
			return
		}
	}
}
