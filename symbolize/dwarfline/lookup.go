package dwarfline

import (
	"fmt"
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
)

// Lookup appends the functions at a file address to dst: inlined ones
// innermost first, then the one that is there in the machine code. Look up the
// address of a sampled instruction as it is, that of a caller at its return
// address minus one.
//
// Nothing is appended where the debug information knows no code. Nothing is
// appended either when there is an error: it says why the answer is unknown,
// and wraps one of the errors of this package unless reading did not work.
func (d *Data) Lookup(pc addr.File, dst []Line) ([]Line, error) {
	if err := d.ensureIndex(); err != nil {
		return dst, err
	}
	id, ok := find(d.index, uint64(pc))
	if !ok {
		return dst, nil
	}
	d.tick++
	s := session{d: d, work: budget{d.work}}
	u, err := s.unit(&d.main.units[id])
	if err == nil {
		n := len(dst)
		if dst, err = s.answer(u, uint64(pc), dst); err != nil {
			dst = dst[:n]
			if !passing(err) && s.work.left < d.work/2 {
				u.bad = err // it is not tried again and again
			}
		}
	}
	if u != nil {
		d.evict(u)
	}
	return dst, err
}

func (d *Data) ensureIndex() error {
	if d.indexed {
		return d.indexErr
	}
	err := d.makeIndex()
	if err != nil {
		err = fmt.Errorf("index debug information: %w", err)
	}
	if !passing(err) {
		d.indexed, d.indexErr = true, err
	}
	return err
}

// unit returns a unit that was read.
func (s *session) unit(h *unitHead) (*unit, error) {
	d := s.d
	if u := d.loaded[h]; u != nil {
		u.used = d.tick
		return u, u.bad
	}
	u, err := s.loadUnit(h)
	if err != nil {
		if passing(err) {
			return nil, err
		}
		u = &unit{head: h, bad: err, held: 512}
	}
	u.used = d.tick
	d.loaded[h] = u
	d.held += u.held
	return u, err
}

// grow counts memory that a unit holds from now on.
func (d *Data) grow(u *unit, n int64) {
	u.held += n
	d.held += n
}

// answer appends the functions at pc, which is in the unit.
func (s *session) answer(u *unit, pc uint64, dst []Line) ([]Line, error) {
	function, inside := find(u.cuts, pc)
	file, line, hasLine, err := s.line(u, pc)
	if err != nil {
		return dst, err
	}
	if !inside {
		if hasLine { // assembly language, or a function folded with its double
			path, err := s.file(u, file)
			return append(dst, Line{File: path, Line: int64(line), Language: u.info.language}), err
		}
		return dst, nil
	}
	calls, err := s.callsOf(u, function)
	if err != nil {
		return dst, err
	}
	at := int32(-1)
	if id, ok := find(calls.cuts, pc); ok {
		at = int32(id)
	}
	for {
		origin := u.head.off + uint64(u.entries[function])
		if at >= 0 {
			origin = calls.calls[at].origin
		}
		l, err := s.describe(u, origin, file, line)
		if err != nil {
			return dst, err
		}
		dst = append(dst, l)
		if at < 0 {
			return dst, nil
		}
		file, line = calls.calls[at].file, calls.calls[at].line
		at = calls.calls[at].parent
	}
}

// describe makes a line of a function and a place in it.
func (s *session) describe(u *unit, origin uint64, file, line uint32) (Line, error) {
	n, ok := u.names[origin]
	if !ok {
		var err error
		if n, err = s.name(origin); err != nil {
			return Line{}, err
		}
		if n.name != "" && n.linkage == "" && qualified(u.info.language) {
			if n.scope, err = s.scopeOf(u, n.decl); passing(err) {
				return Line{}, err
			} else if err != nil {
				s.forget() // what cannot be read leaves the name as it is
			}
		}
		u.names[origin] = n
		s.d.grow(u, n.bytes())
	}
	path, err := s.file(u, file)
	if err != nil {
		return Line{}, err
	}
	return Line{
		Name: n.name, LinkageName: n.linkage, Scope: n.scope, File: path, Line: int64(line), StartLine: int64(n.line),
		Language: u.info.language,
	}, nil
}

func (s *session) callsOf(u *unit, function uint32) (*callTable, error) {
	if t := u.calls[function]; t != nil {
		return t, nil
	}
	t, err := s.loadCalls(u, u.entries[function])
	if err != nil {
		return nil, err
	}
	u.calls[function] = t
	s.d.grow(u, t.bytes())
	return t, nil
}

// line returns file and line of an address in the unit.
func (s *session) line(u *unit, pc uint64) (file, line uint32, ok bool, err error) {
	if err := s.lines(u); err != nil || u.lines == nil {
		return noFile, 0, false, err
	}
	if file, line, ok = u.lines.find(pc); !ok {
		return noFile, 0, false, nil
	}
	return file, line, true, nil
}

// lines reads the line table of a unit if it has one.
func (s *session) lines(u *unit) error {
	if u.lines != nil || !u.info.hasLines || s.d.main.sec[secLine].size == 0 {
		return nil
	}
	t, err := s.readLines(u.info.stmtList)
	if err != nil {
		if !passing(err) {
			u.bad = err // no address has an answer without lines
		}
		return err
	}
	u.lines = t
	s.d.grow(u, t.bytes())
	return nil
}

// file returns the path of a file of the unit, "" if it has none.
func (s *session) file(u *unit, file uint32) (string, error) {
	if file == noFile || u.lines == nil {
		return "", nil
	}
	if p, ok := u.paths[file]; ok {
		return p, nil
	}
	p, err := s.path(u, file)
	if err != nil {
		return "", err
	}
	if int(file) < len(u.lines.header.files) { // others are not worth remembering
		u.paths[file] = p
		s.d.grow(u, int64(len(p))+48)
	}
	return p, nil
}

// evict drops the units that were not used for longest until what is held is
// within its bound. The unit at hand loses what it holds beyond its tables.
func (d *Data) evict(now *unit) {
	if d.held <= d.opts.MaxBytes {
		return
	}
	others := make([]*unit, 0, len(d.loaded))
	for _, u := range d.loaded {
		if u != now {
			others = append(others, u)
		}
	}
	slices.SortFunc(others, func(a, b *unit) int { return int(int64(a.used - b.used)) })
	for _, u := range others {
		if d.held <= d.opts.MaxBytes*3/4 { // so that it does not happen each time
			return
		}
		delete(d.loaded, u.head)
		d.held -= u.held
	}
	if d.held > d.opts.MaxBytes {
		delete(d.loaded, now.head)
		d.held -= now.held
	}
}
