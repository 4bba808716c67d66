package symbolize

import (
	"strings"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/perfmap"
)

// jitState is what is known of a process's run-time generated code. Only the
// Symbolizer touches it, under its lock.
type jitState struct {
	held    holding
	reader  *perfmap.Reader
	reading chan jitResult // not nil: the reader belongs to a goroutine
	looked  time.Time
	refused error
	bad     uint64 // malformed lines that are counted already
	frames  map[addr.Virtual]*Frame
	lines   map[string][]Line
	modules map[addr.Virtual]*Module // by start
}

func (j *jitState) release() {
	j.frames, j.lines, j.modules = nil, nil, nil
	if j.reading == nil {
		j.reader, j.bad = nil, 0
		j.looked = time.Time{}
	}
}

// jitFrame returns the frame of code that was put into memory at run time: in
// anonymous memory, or in o, a file that is no ELF file.
func (s *Symbolizer) jitFrame(p *Process, m *Mapped, at addr.Virtual, o *Object) *Frame {
	if p.jit == nil {
		p.jit = &jitState{}
	}
	j := p.jit
	j.held.used = s.tick
	s.refreshJIT(p, j)
	if f := j.frames[at]; f != nil && f.Module.Path == m.Object.key.path {
		return f
	}
	f := &Frame{Kind: KindJIT, Module: s.jitModule(j, m, at), Address: addr.File(at), Reason: ReasonNoMap}
	bytes := int64(frameBytes)
	if o != nil {
		f.Reason = ReasonMalformed
		if !strings.HasPrefix(o.key.path, "/memfd:") {
			f.Kind = KindNative // code of a format that we do not know, unless a map names it
		}
	}
	if j.reading != nil {
		return f // not kept: the name may be known soon
	}
	if name, ok := j.reader.Lookup(at); ok {
		f.Reason, f.Kind = ReasonNone, KindJIT
		f.Lines = j.lines[name]
		if f.Lines == nil {
			if j.lines == nil {
				j.lines = make(map[string][]Line)
			}
			f.Lines = []Line{{Name: demangle.Cut(name)}}
			j.lines[name] = f.Lines
			bytes += linesBytes + int64(len(name))
		}
	}
	if j.frames == nil {
		j.frames = make(map[addr.Virtual]*Frame)
	}
	j.frames[at] = f
	s.hold(&j.held, j, bytes)
	return f
}

// jitModule returns the module of a mapping of generated code. Runtimes grow
// and shrink theirs all the time: the module stays the same as long as it has
// the address.
func (s *Symbolizer) jitModule(j *jitState, m *Mapped, at addr.Virtual) *Module {
	mod := j.modules[m.Start]
	if mod != nil && addr.File(at) < mod.Limit && mod.Path == m.Object.key.path {
		return mod
	}
	if j.modules == nil {
		j.modules = make(map[addr.Virtual]*Module)
	}
	mod = &Module{Path: m.Object.key.path, Start: addr.File(m.Start), Limit: addr.File(m.Limit)}
	j.modules[m.Start] = mod
	s.hold(&j.held, j, moduleBytes)
	return mod
}
