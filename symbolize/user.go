package symbolize

import (
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/elffile"
)

// User appends one frame for each address of a user stack, leaf first, to dst.
// pcs[0] is the interrupted instruction and looked up as it is; the others are
// return addresses and looked up one byte below, in the call before them.
func (s *Symbolizer) User(p *Process, pcs []addr.Virtual, dst []*Frame) []*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	s.began = time.Time{}
	s.lookForNews()
	called := false // the next address is where a call returns to
	for _, pc := range pcs {
		f := s.userFrame(p, pc, called && pc > 0)
		called = !f.interrupted
		dst = append(dst, f)
	}
	s.shrink()
	return dst
}

// stackTime returns the time at which the stack at hand was met. Few stacks
// need it, and none needs it more than once.
func (s *Symbolizer) stackTime() time.Time {
	if s.began.IsZero() {
		s.began = s.now()
	}
	return s.began
}

// userFrame returns the frame of an address, or of the call before it if it is
// where a call returns to. Signal handlers return to code that nothing calls:
// its address is taken as it is.
func (s *Symbolizer) userFrame(p *Process, pc addr.Virtual, called bool) *Frame {
	at := pc
	if called {
		at--
	}
	m := findMapping(p.Mappings, at)
	if m == nil {
		return s.unmapped(p, at)
	}
	o, off := m.Object, addr.Offset(at-m.Start)+m.Offset
	switch o.kind {
	case objectFile:
	case objectAnonymous:
		var ok bool
		if o, off, ok = s.moved(p, m, at); !ok {
			return s.jitFrame(p, m, at, nil)
		}
	case objectVDSO:
		off = addr.Offset(at - m.Start) // whatever offset events tell of memory
	case objectVsyscall:
		return s.vsyscallFrame
	}
	o.held.used = s.tick
	if o.detail.asking != nil {
		s.poll(o)
	}
	if called && o.image != nil && o.image.isSigreturn(off+1) {
		off++
	}
	if f := o.frames[off]; f != nil {
		return f
	}
	if o.kind == objectLost {
		return s.fileFrame(o, off, nil, ReasonUnreadable)
	}
	known := o.image != nil
	img := s.imageOf(o)
	if img == nil {
		return &Frame{Kind: KindNative, Module: o.module(0, o.extent, 0), Address: addr.File(off), Reason: ReasonUnreadable}
	}
	if img.foreign {
		return s.jitFrame(p, m, at, o)
	}
	if called && !known && img.isSigreturn(off+1) {
		off++
	}
	return s.fileFrame(o, off, img, img.reason)
}

// findMapping returns the mapping that holds an address, nil if none does.
func findMapping(ms []Mapped, at addr.Virtual) *Mapped {
	lo, hi := 0, len(ms)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if ms[mid].Limit <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(ms) || at < ms[lo].Start {
		return nil
	}
	return &ms[lo]
}

// unmapped returns the frame of an address in no mapping.
func (s *Symbolizer) unmapped(p *Process, at addr.Virtual) *Frame {
	if at-vsyscallPage < vsyscallSize {
		return s.vsyscallFrame
	}
	reason := ReasonNoMapping
	if len(p.Mappings) == 0 {
		reason = ReasonProcessGone
	}
	if f := s.strays[at]; f != nil && f.Reason == reason {
		return f
	}
	if len(s.strays) >= maxStrays {
		clear(s.strays)
	}
	f := &Frame{Module: s.nowhere, Address: addr.File(at), Reason: reason}
	s.strays[at] = f
	return f
}

// maxStrays bounds the frames kept of addresses in no mapping, which may be
// anything.
const maxStrays = 4096

// fileFrame makes the frame of an offset in a file and keeps it. img is nil
// and reason says why if the file cannot be read.
func (s *Symbolizer) fileFrame(o *Object, off addr.Offset, img *image, reason Reason) *Frame {
	f := &Frame{Kind: KindNative, Address: addr.File(off), Reason: reason}
	bytes := int64(frameBytes)
	var segments []elffile.Segment
	if img != nil {
		segments = img.segments
	}
	if o.modules == nil {
		o.modules = make([]*Module, len(segments)+1)
		o.frames = make(map[addr.Offset]*Frame)
		bytes += objectBytes
	}
	i := len(segments)
	if seg, at, ok := elffile.FindSegment(segments, off); ok && reason == ReasonNone {
		f.Address = at
		for i = range segments {
			if &segments[i] == seg {
				break
			}
		}
	}
	if o.modules[i] == nil {
		o.modules[i] = o.moduleOf(segments, i)
		bytes += moduleBytes
	}
	f.Module = o.modules[i]
	if reason == ReasonNone {
		f.Reason = ReasonNoSymbol
		if i < len(segments) {
			bytes += s.name(o, img, f, off)
		}
	}
	if img != nil && img.inSigreturn(off) {
		f.interrupted = true
		if len(f.Lines) == 0 {
			f.Lines, f.Reason = restorerLines, ReasonNone
		}
	}
	o.frames[off] = f
	s.hold(&o.held, o, bytes)
	return f
}

var restorerLines = []Line{{Name: restorerName}}

// moduleOf returns the module of a segment, or that of what lies in none.
func (o *Object) moduleOf(segments []elffile.Segment, i int) *Module {
	if i < len(segments) {
		return o.module(segments[i].Start, segments[i].Limit, segments[i].Offset)
	}
	return o.module(0, o.extent, 0)
}

// name gives a frame its lines and returns the bytes that it took.
func (s *Symbolizer) name(o *Object, img *image, f *Frame, off addr.Offset) (bytes int64) {
	i, known := img.symbols.Lookup(f.Address)
	ranges := !known && img.functions && o.functions == nil
	if ranges || img.detailed(f.Address) {
		a, ok := s.ask(o, f.Address, ranges)
		if !ok {
			o.detail.poor = append(o.detail.poor, off)
		}
		if len(a.golang) > 0 || len(a.dwarf) > 0 {
			symbol := ""
			if known {
				symbol = img.symbols.Name(i)
			}
			if bytes := s.nameByTables(o, f, &a, symbol); len(f.Lines) > 0 {
				return bytes
			}
		}
	}
	if !known {
		if o.functions != nil {
			f.FunctionStart, f.FunctionLimit = o.functions.Find(f.Address)
		}
		return 0
	}
	f.Reason = ReasonNone
	id := img.symbols.NameID(i)
	lines := o.lines[id]
	if lines == nil {
		if o.lines == nil {
			o.lines = make(map[uint32][]Line)
		}
		lines = []Line{s.line(img.symbols.Name(i))}
		o.lines[id] = lines
		bytes = linesBytes + int64(len(lines[0].Name)+len(lines[0].SystemName))
	}
	f.Lines = lines
	if demangle.Rust(lines[0].SystemName) || lines[0].SystemName == "" && demangle.Rust(lines[0].Name) {
		f.Kind = KindRust
	}
	return bytes
}

// line returns the line of a linker name.
func (s *Symbolizer) line(linker string) Line {
	l := Line{Name: demangle.Name(linker, s.opts.Demangle)}
	if l.Name != linker {
		l.SystemName = demangle.Cut(linker)
	}
	return l
}
