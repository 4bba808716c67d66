package symbolize

import (
	"os"
	"path/filepath"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/kernel"
)

const (
	kernelPath = "[kernel]"
	// kernelInterval is the least time between two readings of the kernel's
	// symbols, which cost some 30 ms: modules and BPF programs that came
	// meanwhile, or addresses that are shown by now. Each reading in vain
	// doubles it, up to 16 times.
	kernelInterval = time.Minute
	// maxKernelFrames bounds the kernel frames that are kept: some 100,000
	// different addresses are more than a host shows in days.
	maxKernelFrames = 1 << 17
)

// kernelState is what is known of the kernel. Guarded by Symbolizer.mu.
type kernelState struct {
	table   *kernel.Table // nil before the first reading
	read    time.Time
	held    int64 // bytes counted for it
	frames  map[addr.Virtual]*Frame
	lines   map[int][]Line // by index in table
	modules map[string]*Module
	vain    int // readings since one that named more than the one before
}

// Kernel appends one frame for each address of a kernel stack, leaf first, to
// dst. pcs[0] is looked up as it is, the others are return addresses.
func (s *Symbolizer) Kernel(pcs []addr.Virtual, dst []*Frame) []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	s.began = time.Time{}
	k := &s.kernel
	for i, pc := range pcs {
		if i > 0 && pc > 0 {
			pc--
		}
		f := k.frames[pc]
		if f == nil || f.Reason != ReasonNone && s.rereadKernel() {
			f = s.kernelFrame(pc)
		}
		dst = append(dst, f)
	}
	s.shrink()
	return dst
}

// KernelRanges returns the address ranges of the kernel functions of these
// names, nil if addresses are hidden.
func (s *Symbolizer) KernelRanges(names ...string) [][2]addr.Virtual {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readKernel()
	return s.kernel.table.Ranges(names...)
}

// kernelFrame names an address for the first time.
func (s *Symbolizer) kernelFrame(at addr.Virtual) *Frame {
	k := &s.kernel
	s.readKernel()
	i, ok := k.table.Lookup(at)
	if !ok && s.rereadKernel() {
		i, ok = k.table.Lookup(at)
	}
	f := &Frame{Kind: KindKernel, Address: addr.File(at), Reason: ReasonNoSymbol}
	bytes := int64(frameBytes)
	switch {
	case ok:
		f.Reason = ReasonNone
		f.Module = k.module(k.table, k.table.Module(i))
		f.Lines = k.lines[i]
		if f.Lines == nil {
			f.Lines = []Line{s.line(k.table.Name(i))}
			k.lines[i] = f.Lines
			bytes += linesBytes + int64(len(f.Lines[0].Name))
		}
	case k.table.Hidden():
		f.Reason = ReasonKernelHidden
		fallthrough
	default:
		f.Module = k.module(k.table, "")
	}
	if len(k.frames) >= maxKernelFrames {
		s.held -= int64(len(k.frames)) * frameBytes
		k.held -= int64(len(k.frames)) * frameBytes
		clear(k.frames)
	}
	k.frames[at] = f
	k.held += bytes
	s.held += bytes
	return f
}

// module returns the module of a name in brackets, "" being the kernel.
func (k *kernelState) module(t *kernel.Table, name string) *Module {
	if m := k.modules[name]; m != nil {
		return m
	}
	m := &Module{Path: name}
	if name == "" {
		start, limit := t.Text()
		m.Path, m.Start, m.Limit = kernelPath, addr.File(start), addr.File(limit)
	}
	k.modules[name] = m
	return m
}

// readKernel reads the symbols if that has not been done.
func (s *Symbolizer) readKernel() {
	if s.kernel.table != nil {
		return
	}
	s.setKernel(s.openKernel())
}

// rereadKernel reads the symbols again, at most once in kernelInterval.
func (s *Symbolizer) rereadKernel() bool {
	k := &s.kernel
	if s.stackTime().Sub(k.read) < kernelInterval<<min(k.vain, 4) {
		return false
	}
	vain, known := k.vain+1, k.table.Len()
	t := s.openKernel()
	if t.Len() != known {
		vain = 0
	}
	s.setKernel(t)
	k.vain = vain
	return true
}

// openKernel returns an empty table, which is a hidden one, if there are no
// symbols to read.
func (s *Symbolizer) openKernel() *kernel.Table {
	f, err := os.Open(filepath.Join(s.opts.ProcRoot, "kallsyms"))
	if err != nil {
		return &kernel.Table{}
	}
	defer f.Close()
	t, err := kernel.Parse(f)
	if err != nil {
		return &kernel.Table{}
	}
	return t
}

// setKernel takes a new table. Frames that had a name keep it, so that the
// same code stays the same frame; those that had none are looked up again.
func (s *Symbolizer) setKernel(t *kernel.Table) {
	k := &s.kernel
	k.read = s.now()
	if k.table != nil && t.Len() == 0 {
		return // nothing was read this time; what is known stays known
	}
	old := k.frames
	s.held -= k.held
	*k = kernelState{
		table: t, read: k.read, held: t.Bytes(),
		frames: make(map[addr.Virtual]*Frame), lines: make(map[int][]Line), modules: make(map[string]*Module),
	}
	for at, f := range old {
		if i, ok := t.Lookup(at); ok && f.Reason == ReasonNone && f.Lines[0].Name == t.Name(i) {
			k.frames[at] = f
			k.held += frameBytes
		}
	}
	s.held += k.held
}
