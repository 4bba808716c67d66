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
	for i, pc := range pcs {
		if i > 0 && pc > 0 {
			pc--
		}
		dst = append(dst, s.userFrame(p, pc))
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

func (s *Symbolizer) userFrame(p *Process, at addr.Virtual) *Frame {
	m := findMapping(p.Mappings, at)
	switch {
	case m == nil:
		return s.unmapped(p, at)
	case m.Object.kind == objectAnonymous:
		return s.jitFrame(p, m, at, nil)
	}
	o := m.Object
	o.held.used = s.tick
	off := addr.Offset(at-m.Start) + m.Offset
	if o.kind == objectVDSO {
		off = addr.Offset(at - m.Start) // whatever offset events tell of memory
	}
	if f := o.frames[off]; f != nil {
		return f
	}
	if o.kind == objectVsyscall {
		return s.vsyscallFrame
	}
	if o.kind == objectLost {
		return s.fileFrame(o, off, nil, ReasonUnreadable)
	}
	img := s.imageOf(o)
	if img == nil {
		return &Frame{Kind: KindNative, Module: o.module(0, o.extent, 0), Address: addr.File(off), Reason: ReasonUnreadable}
	}
	if img.foreign {
		return s.jitFrame(p, m, at, o)
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
			bytes += s.name(o, img, f)
		}
	}
	o.frames[off] = f
	s.hold(&o.held, o, bytes)
	return f
}

// moduleOf returns the module of a segment, or that of what lies in none.
func (o *Object) moduleOf(segments []elffile.Segment, i int) *Module {
	if i < len(segments) {
		return o.module(segments[i].Start, segments[i].Limit, segments[i].Offset)
	}
	return o.module(0, o.extent, 0)
}

// name gives a frame its lines and returns the bytes that it took.
func (s *Symbolizer) name(o *Object, img *image, f *Frame) (bytes int64) {
	i, ok := img.symbols.Lookup(f.Address)
	if !ok {
		return 0
	}
	f.Reason = ReasonNone
	id := img.symbols.NameID(i)
	if lines := o.lines[id]; lines != nil {
		f.Lines = lines
		return 0
	}
	if o.lines == nil {
		o.lines = make(map[uint32][]Line)
	}
	line := s.line(img.symbols.Name(i))
	f.Lines = []Line{line}
	o.lines[id] = f.Lines
	return linesBytes + int64(len(line.Name)+len(line.SystemName))
}

// line returns the line of a linker name.
func (s *Symbolizer) line(linker string) Line {
	l := Line{Name: demangle.Name(linker, s.opts.Demangle)}
	if l.Name != linker {
		l.SystemName = demangle.Cut(linker)
	}
	return l
}
