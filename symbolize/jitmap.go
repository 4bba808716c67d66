package symbolize

import (
	"errors"
	"time"

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
			j.reader = &perfmap.Reader{}
		}
		j.reading = make(chan jitResult, 1)
		go readMap(s.opts.ProcRoot, p.PID, p.StartNanos, j.reader, j.reading)
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
	for at, f := range j.frames {
		if f.Reason == ReasonNone && j.reader.Same(at, f.Lines[0].Name) {
			continue
		}
		if _, ok := j.reader.Lookup(at); ok || f.Reason == ReasonNone {
			delete(j.frames, at)
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
