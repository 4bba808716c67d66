package symbolize

import (
	"strings"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/jitdump"
	"github.com/flametel/flametel/symbolize/jitdump/jitname"
	"github.com/flametel/flametel/symbolize/perfmap"
)

// jitState is what is known of a process's run-time generated code. Only the
// Symbolizer touches it, under its lock.
type jitState struct {
	held    holding
	reader  *perfmap.Reader // nil before the first reading
	dump    *jitdump.Reader // the same
	place   *perfmap.Place  // of the map while it is missing, nil if not known
	reading chan jitResult  // not nil: the three above belong to a goroutine
	looked  time.Time       // when they were read last
	paid    time.Time       // until when reading is paid for; later than now if it is owed for
	refused error
	bad     uint64 // malformed lines that are counted already
	runtime jitname.Runtime
	frames  map[addr.Virtual]*Frame
	lines   map[string][]Line        // of names without source lines
	modules map[addr.Virtual]*Module // by start
	pending map[addr.Virtual]*Frame  // frames without names while readers are read

	image     *Process            // whose state it is, as mapped when last read
	listed    bool                // in Symbolizer.settling
	unsettled map[*Frame]struct{} // frames without names that were handed out

	moved    map[addr.Virtual]movedText // by start of the mapping
	mapReads int
}

func (j *jitState) release() {
	j.frames, j.lines, j.modules, j.moved = nil, nil, nil, nil
	j.pending, j.unsettled = nil, nil
	if j.reading == nil {
		j.reader, j.dump, j.bad = nil, nil, 0
		j.looked = time.Time{}
	}
}

// generated returns the state of a process's generated code.
func (p *Process) generated() *jitState {
	if p.jit == nil {
		p.jit = &jitState{}
	}
	return p.jit
}

// jitFrame returns the frame of code that was put into memory at run time: in
// anonymous memory, or in o, a file that is no ELF file.
func (s *Symbolizer) jitFrame(p *Process, m *Mapped, at addr.Virtual, o *Object) *Frame {
	j := p.generated()
	j.held.used = s.tick
	j.image = p
	s.refreshJIT(p, j)
	for _, f := range [...]*Frame{j.frames[at], j.pending[at]} {
		if f != nil && f.Module.Path == m.Object.key.path {
			s.await(j, f)
			return f
		}
	}
	f := &Frame{Kind: KindJIT, Module: s.jitModule(j, m, at), Address: addr.File(at), Reason: ReasonNoMap}
	bytes := int64(frameBytes)
	if o != nil {
		f.Reason = ReasonMalformed
		if !strings.HasPrefix(o.key.path, "/memfd:") {
			f.Kind = KindNative // code of a format that we do not know, unless a map names it
		}
	}
	kept := &j.frames
	if j.reading != nil {
		kept = &j.pending // the name may be known soon
	} else if c, ok := j.find(at); ok {
		bytes += s.nameGenerated(j, f, &c)
	} else if o == nil {
		f.Reason = j.missing()
	}
	if *kept == nil {
		*kept = make(map[addr.Virtual]*Frame)
	}
	(*kept)[at] = f
	s.hold(&j.held, j, bytes)
	s.await(j, f)
	return f
}

// missing says why code has no name.
func (j *jitState) missing() Reason {
	if j.reader.Cut() || j.dump.Cut() {
		return ReasonMapTooBig
	}
	return ReasonNoMap
}

// find looks up generated code: in the binary log, which knows more, then in
// the map.
func (j *jitState) find(at addr.Virtual) (jitdump.Code, bool) {
	if c, ok := j.dump.Lookup(at, 0); ok {
		return c, true
	}
	name, ok := j.reader.Lookup(at)
	return jitdump.Code{Name: name}, ok
}

// nameGenerated gives a frame the name of generated code and returns the bytes
// that it took.
func (s *Symbolizer) nameGenerated(j *jitState, f *Frame, c *jitdump.Code) (bytes int64) {
	n := jitname.Parse(c.Name, j.runtime)
	f.Reason, f.Kind, f.Tier = ReasonNone, runtimeKinds[n.Runtime], n.Tier
	if f.Lines = j.lines[c.Name]; f.Lines != nil && c.Line == 0 {
		return 0
	}
	line := Line{Name: demangle.Cut(n.Name), File: n.File, StartLine: n.StartLine}
	if n.Name != c.Name {
		line.SystemName = demangle.Cut(c.Name)
	}
	bytes = linesBytes + int64(len(line.Name)+len(line.SystemName)+len(line.File))
	if c.Line != 0 {
		line.Line = c.Line
		if c.File != "" {
			line.File = c.File
		}
		f.Lines = []Line{line}
		return bytes
	}
	if j.lines == nil {
		j.lines = make(map[string][]Line)
	}
	f.Lines = []Line{line}
	j.lines[c.Name] = f.Lines
	return bytes
}

// same tells whether a frame would get the same name again, or none.
func (j *jitState) same(at addr.Virtual, f *Frame) bool {
	if f.Reason != ReasonNone {
		_, ok := j.find(at)
		return !ok && (f.Reason == ReasonMalformed || f.Reason == j.missing())
	}
	raw := f.Lines[0].SystemName
	if raw == "" {
		raw = f.Lines[0].Name
	}
	if c, ok := j.dump.Lookup(at, 0); ok {
		return c.Name == raw && c.Line == f.Lines[0].Line
	}
	return f.Lines[0].Line == 0 && j.reader.Same(at, raw)
}

var runtimeKinds = map[jitname.Runtime]Kind{
	jitname.Other:   KindJIT,
	jitname.V8:      KindV8,
	jitname.JVM:     KindJVM,
	jitname.Dotnet:  KindDotnet,
	jitname.CPython: KindCPython,
}

// runtimeOf returns the runtime that a process runs, by the files that it maps, and
// which of them says so.
func runtimeOf(p *Process) (r jitname.Runtime, file string) {
	for i := range p.Mappings {
		if o := p.Mappings[i].Object; o.kind == objectFile {
			if r := jitname.Of(o.key.path); r != jitname.Other {
				return r, o.key.path
			}
		}
	}
	return jitname.Other, ""
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
