package symbolize

import (
	"errors"
	"time"

	"github.com/flametel/flametel/symbolize/jitdump"
	"github.com/flametel/flametel/symbolize/perfmap"
)

// jitInterval is the least time between two looks at a process's perf map.
const jitInterval = time.Second

type jitResult struct {
	changed bool
	err     error
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
			j.reader, j.dump = &perfmap.Reader{}, &jitdump.Reader{}
		}
		j.runtime = runtimeOf(p)
		j.reading = make(chan jitResult, 1)
		go s.readGenerated(p, j.reader, j.dump, j.reading)
		t := time.NewTimer(s.patience.jit)
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

// readGenerated reads what is new in a process's perf map and in its binary
// log of generated code.
func (s *Symbolizer) readGenerated(p *Process, r *perfmap.Reader, dump *jitdump.Reader, done chan<- jitResult) {
	changed, err := s.readMap(p, r)
	if o := dumpOf(p); o != nil {
		c, dumpErr := s.readDump(o, dump)
		changed = changed || c
		if errors.Is(err, perfmap.ErrNone) {
			err = dumpErr
		}
	}
	done <- jitResult{changed: changed, err: err}
}

func (s *Symbolizer) readMap(p *Process, r *perfmap.Reader) (changed bool, err error) {
	f, err := perfmap.Find(s.opts.ProcRoot, p.PID, p.StartNanos)
	if err != nil {
		return false, err
	}
	defer f.Close()
	changed, _, err = r.Update(f, f.ID, f.Size)
	return changed, err
}

// dumpOf returns the log that a process maps to tell profilers of it. That it
// is mapped shows that it is the process's own, whatever PID its name tells:
// processes in a container do not know ours.
func dumpOf(p *Process) *Object {
	for i := range p.Mappings {
		if o := p.Mappings[i].Object; o.kind == objectFile {
			if _, ok := jitdump.ProcessOf(o.key.path); ok {
				return o
			}
		}
	}
	return nil
}

// maxDumpUpdates bounds how much of a log is read at a time: some 64 MB.
const maxDumpUpdates = 8

func (s *Symbolizer) readDump(o *Object, dump *jitdump.Reader) (changed bool, err error) {
	s.index.mu.Lock()
	pin, from := o.pin, o.origin
	s.index.mu.Unlock()
	f, done := s.files.use(pin)
	if f == nil {
		// A log grows, so only its inode tells that it is the same.
		l, err := s.locate(from)
		if err != nil {
			return false, err
		}
		pin, done = s.files.add(l.file, l.id)
		f = l.file
		s.index.mu.Lock()
		o.pin = pin
		s.index.mu.Unlock()
	}
	defer done()
	for range maxDumpUpdates {
		id, err := identify(f)
		if err != nil {
			return changed, err
		}
		c, more, err := dump.Update(f, id.size)
		changed = changed || c
		if err != nil || !more {
			return changed, err
		}
	}
	return changed, nil
}

// finishJIT takes the reader back and forgets the frames whose name changed.
// Stacks that were named before keep theirs.
func (s *Symbolizer) finishJIT(j *jitState, r jitResult) {
	j.reading = nil
	s.countMap(j, r.err)
	if !r.changed {
		return
	}
	for at, f := range j.frames {
		if f.Reason == ReasonNone && j.same(at, f) {
			continue
		}
		if _, ok := j.find(at); ok || f.Reason == ReasonNone {
			delete(j.frames, at)
			s.hold(&j.held, j, -frameBytes)
		}
	}
	clear(j.lines)
	total := j.reader.Bytes() + j.dump.Bytes() + int64(len(j.frames))*(frameBytes+linesBytes) + int64(len(j.modules))*moduleBytes
	s.hold(&j.held, j, total-j.held.bytes)
}

// countMap counts why a map was not read, once for each change of reason.
func (s *Symbolizer) countMap(j *jitState, err error) {
	bad := j.reader.Malformed() + j.dump.Malformed()
	s.badLines += bad - j.bad
	j.bad = bad
	if (j.reader.Cut() || j.dump.Cut()) && err == nil {
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
	case errors.Is(err, jitdump.ErrFormat):
		return "malformed_jitdump"
	}
	return "read_error"
}
