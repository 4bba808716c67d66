package symbolize

import (
	"errors"
	"strings"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/perfmap"
)

const (
	// jitInterval is the least time between two looks at a process's perf map.
	jitInterval = time.Second
	// jitPatience is how long a stack waits for a perf map to be read.
	jitPatience = 500 * time.Millisecond
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
	frames  map[jitKey]*Frame
	lines   map[string][]Line
	modules map[addr.Virtual]*Module
}

// jitKey tells code in memory from code at the same place in another mapping.
type jitKey struct {
	at     addr.Virtual
	module *Module
}

type jitResult struct {
	changed bool
	err     error
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
	module := s.jitModule(j, m)
	key := jitKey{at, module}
	if f := j.frames[key]; f != nil {
		return f
	}
	f := &Frame{Kind: KindJIT, Module: module, Address: addr.File(at), Reason: ReasonNoMap}
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
		j.frames = make(map[jitKey]*Frame)
	}
	j.frames[key] = f
	s.hold(&j.held, j, bytes)
	return f
}

// jitModule returns the module of a mapping of generated code.
func (s *Symbolizer) jitModule(j *jitState, m *Mapped) *Module {
	mod := j.modules[m.Start]
	if mod != nil && mod.Limit == addr.File(m.Limit) {
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

// refreshJIT looks at most once a second whether the perf map has grown.
func (s *Symbolizer) refreshJIT(p *Process, j *jitState) {
	if j.reading == nil {
		now := s.stackTime()
		if now.Sub(j.looked) < jitInterval {
			return
		}
		j.looked = now
		if j.reader == nil {
			j.reader = &perfmap.Reader{}
		}
		j.reading = make(chan jitResult, 1)
		go readMap(s.opts.ProcRoot, p.PID, p.StartNanos, j.reader, j.reading)
		t := time.NewTimer(jitPatience)
		defer t.Stop()
		select {
		case r := <-j.reading:
			s.finishJIT(j, r)
		case <-t.C:
		}
		return
	}
	select {
	case r := <-j.reading:
		s.finishJIT(j, r)
	default:
	}
}

// readMap reads what is new in a process's perf map.
func readMap(procRoot string, pid int, startNanos uint64, r *perfmap.Reader, done chan<- jitResult) {
	f, err := perfmap.Find(procRoot, pid, startNanos)
	if err != nil {
		done <- jitResult{err: err}
		return
	}
	defer f.Close()
	changed, _, err := r.Update(f, f.ID, f.Size)
	done <- jitResult{changed: changed, err: err}
}

// finishJIT takes the reader back and forgets the frames whose name changed.
// Stacks that were named before keep theirs.
func (s *Symbolizer) finishJIT(j *jitState, r jitResult) {
	j.reading = nil
	s.countMap(j, r.err)
	if !r.changed {
		return
	}
	for key, f := range j.frames {
		at := key.at
		if f.Reason == ReasonNone && j.reader.Same(at, f.Lines[0].Name) {
			continue
		}
		if _, ok := j.reader.Lookup(at); ok || f.Reason == ReasonNone {
			delete(j.frames, key)
			s.hold(&j.held, j, -frameBytes)
		}
	}
	clear(j.lines)
	total := j.reader.Bytes() + int64(len(j.frames))*(frameBytes+linesBytes) + int64(len(j.modules))*moduleBytes
	s.hold(&j.held, j, total-j.held.bytes)
}

// countMap counts why a map was not read, once for each change of reason.
func (s *Symbolizer) countMap(j *jitState, err error) {
	s.badLines += j.reader.Malformed() - j.bad
	j.bad = j.reader.Malformed()
	if j.reader.Cut() && err == nil {
		err = errMapCut
	}
	if errors.Is(err, perfmap.ErrNone) {
		err = nil
	}
	if err == nil {
		j.refused = nil
		return
	}
	if j.refused == nil || refusal(j.refused) != refusal(err) {
		s.refused[refusal(err)]++
	}
	j.refused = err
}

var errMapCut = errors.New("perf map is too big")

// refusal returns the name under which an error is counted.
func refusal(err error) string {
	var r perfmap.Refusal
	switch {
	case errors.As(err, &r):
		return string(r)
	case errors.Is(err, errMapCut):
		return "too_big"
	}
	return "read_error"
}
