package symbolize

import (
	"io"
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
	live    kernel.Live
}

// bpfPath is the module of BPF programs and trampolines, as in kallsyms.
const bpfPath = "[bpf]"

// AddKernelSymbol notes code that the kernel got at run time, length bytes at
// start: a BPF program or a trampoline. RemoveKernelSymbol notes its end; it
// keeps its name until other code takes its place.
func (s *Symbolizer) AddKernelSymbol(start addr.Virtual, length uint64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kernel.live.Add(start, length, name)
	s.forgetKernelFrames(start, length)
}

// RemoveKernelSymbol is the opposite of AddKernelSymbol.
func (s *Symbolizer) RemoveKernelSymbol(start addr.Virtual, length uint64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kernel.live.Remove(start, length, name)
}

// forgetKernelFrames drops the frames in a range whose code was replaced.
func (s *Symbolizer) forgetKernelFrames(start addr.Virtual, length uint64) {
	k := &s.kernel
	for at := range k.frames {
		if at >= start && at-start < addr.Virtual(length) {
			delete(k.frames, at)
			k.held -= frameBytes
			s.held -= frameBytes
		}
	}
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
	name, live := k.live.Lookup(at)
	i, ok := k.table.Lookup(at)
	if !live && !ok && s.rereadKernel() {
		i, ok = k.table.Lookup(at)
	}
	f := &Frame{Kind: KindKernel, Address: addr.File(at), Reason: ReasonNoSymbol}
	bytes := int64(frameBytes)
	switch {
	case live:
		f.Reason = ReasonNone
		f.Module = k.module(k.table, bpfPath)
		f.Lines = []Line{s.line(name)}
		bytes += linesBytes + int64(len(name))
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
		if f.Address < f.Module.Start || f.Address >= f.Module.Limit {
			// Of a module or a BPF program that came or went a moment ago: the
			// kernel too, but not of its image.
			f.Module = k.module(k.table, kernelPath)
		}
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

// openKernel reads the symbols: from kallsyms, or where that hides the
// addresses, from where the profiler says. It returns an empty table, which is
// a hidden one, if there are none to read.
func (s *Symbolizer) openKernel() *kernel.Table {
	t := parseKernel(os.Open(filepath.Join(s.opts.ProcRoot, "kallsyms")))
	if t.Hidden() && s.opts.KernelSymbols != nil {
		if other := parseKernel(s.opts.KernelSymbols()); !other.Hidden() {
			return other
		}
	}
	return t
}

func parseKernel[R io.ReadCloser](r R, err error) *kernel.Table {
	if err != nil {
		return &kernel.Table{}
	}
	defer r.Close()
	t, err := kernel.Parse(r)
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
		table: t, read: k.read, held: t.Bytes(), live: k.live,
		frames: make(map[addr.Virtual]*Frame), lines: make(map[int][]Line), modules: make(map[string]*Module),
	}
	for at, f := range old {
		if _, live := k.live.Lookup(at); live {
			k.frames[at] = f
			k.held += frameBytes
			continue
		}
		if i, ok := t.Lookup(at); ok && f.Reason == ReasonNone && f.Lines[0].Name == t.Name(i) {
			k.frames[at] = f
			k.held += frameBytes
		}
	}
	s.held += k.held
}
