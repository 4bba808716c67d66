package symbolize

import (
	"errors"
	"time"

	"github.com/flametel/flametel/symbolize/jitdump"
	"github.com/flametel/flametel/symbolize/perfmap"
)

const (
	// jitInterval is the least time between two looks at a process's perf map: a
	// little less than a drain takes to come, so that each looks.
	jitInterval = 900 * time.Millisecond
	// jitCredit is how many pieces of a map may be read beyond one for each
	// look, earned at one for each jitInterval: a big map can be read as a whole
	// when it is met, and again when it was rewritten, but who rewrites his all
	// the time costs no more than a tenth of one CPU.
	jitCredit = 16
)

// maxMapPieces bounds how many pieces of a perf map are read at a time: all of
// what is ever read of one.
const maxMapPieces = 16

type jitResult struct {
	changed bool
	pieces  int
	place   *perfmap.Place
	err     error
}

// refreshJIT looks at most once a second whether the perf map has grown.
func (s *Symbolizer) refreshJIT(p *Process, j *jitState) {
	if j.reading == nil {
		now := s.stackTime()
		if now.Before(j.looked.Add(jitInterval)) || now.Before(j.paid) {
			return
		}
		s.startReading(p, j, now)
		t := time.NewTimer(s.patience.jit)
		defer t.Stop()
		select {
		case r := <-j.reading:
			s.finishJIT(j, r)
		case <-t.C:
		}
		return
	}
	s.pollJIT(j)
}

// pollJIT takes the readers back if they have been read.
func (s *Symbolizer) pollJIT(j *jitState) {
	select {
	case r := <-j.reading:
		s.finishJIT(j, r)
	default:
	}
}

// startReading has what is new in a process's map and log read.
func (s *Symbolizer) startReading(p *Process, j *jitState, now time.Time) {
	j.looked = now
	if j.reader == nil {
		j.reader, j.dump = &perfmap.Reader{}, &jitdump.Reader{}
	}
	j.runtime, _ = runtimeOf(p)
	j.reader.Watch(j.unsettledAt())
	j.reading = make(chan jitResult, 1)
	g := generated{s: s, process: p, keep: s.list(j), place: j.place, reader: j.reader, dump: j.dump}
	j.place = nil
	go func(done chan<- jitResult) { done <- g.read() }(j.reading)
}

// generated is one reading of what a process tells of its generated code.
type generated struct {
	s       *Symbolizer
	process *Process
	keep    bool // the place
	place   *perfmap.Place
	reader  *perfmap.Reader
	dump    *jitdump.Reader
}

// read reads what is new in a process's perf map and in its binary log of
// generated code.
func (g *generated) read() (r jitResult) {
	r.changed, r.pieces, r.err = g.readMap()
	if o := dumpOf(g.process); o != nil {
		changed, err := g.s.readDump(o, g.dump)
		r.changed = r.changed || changed
		if errors.Is(r.err, perfmap.ErrNone) {
			r.err = err
		}
	}
	if !g.keep {
		g.place.Close()
		return r
	}
	r.place = g.place
	return r
}

// readMap reads all that is new, because the newest names stand at the end. The
// map of a process that has ended is where it had its folder.
func (g *generated) readMap() (changed bool, pieces int, err error) {
	place, err := perfmap.Locate(g.s.opts.ProcRoot, g.process.PID, g.process.StartNanos)
	if g.place == nil && errors.Is(err, perfmap.ErrNone) {
		g.place = g.s.early.take(g.process)
	}
	if err == nil {
		g.place.Close()
		g.place = place
	} else if g.place == nil || !errors.Is(err, perfmap.ErrNone) {
		return false, 0, err
	}
	f, err := g.place.Open()
	if err != nil {
		return false, 0, err
	}
	defer f.Close()
	for more := true; more && pieces < maxMapPieces; pieces++ {
		var c bool
		c, more, err = g.reader.Update(f, f.ID, f.Size)
		changed = changed || c
		if err != nil {
			return changed, pieces, err
		}
	}
	return changed, pieces, nil
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

// finishJIT takes the readers back and forgets the frames whose name changed.
// Stacks that were named before keep theirs.
func (s *Symbolizer) finishJIT(j *jitState, r jitResult) {
	j.reading = nil
	j.place = r.place
	if r.err == nil && len(j.unsettled) == 0 || !j.listed {
		j.leave() // it is found again as long as the process runs
	}
	j.pay(r.pieces - 1)
	s.countMap(j, r.err)
	j.pending = nil
	if r.changed {
		for at, f := range j.frames {
			if !j.same(at, f) {
				delete(j.frames, at)
			}
		}
		clear(j.lines)
	}
	total := j.reader.Bytes() + j.dump.Bytes() + int64(len(j.frames))*(frameBytes+linesBytes) +
		int64(len(j.modules))*moduleBytes + int64(len(j.unsettled))*unsettledBytes
	s.hold(&j.held, j, total-j.held.bytes)
}

// pay takes pieces that were read off the credit.
func (j *jitState) pay(pieces int) {
	if full := j.looked.Add(-jitCredit * jitInterval); j.paid.Before(full) {
		j.paid = full
	}
	j.paid = j.paid.Add(time.Duration(max(pieces, 0)) * jitInterval)
}

// leave closes the place of a map.
func (j *jitState) leave() {
	j.place.Close()
	j.place = nil
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
