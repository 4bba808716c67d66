package unwind

import (
	"errors"
)

// maxCIEs bounds the common entries that are held; when there are more they
// are decoded again. Linked files have one for each object file at most, and
// linkers join equal ones.
const maxCIEs = 4096

// reader turns a section into rows.
type reader struct {
	s    *section
	b    *builder
	cies map[uint64]*cie
	// The common entry of the last function; most have the same.
	lastAt uint64
	last   *cie
	stack  []state // memory of remembered states, used again
}

// read decodes all entries of a section. The error is one of the file's
// reader; damage is counted and ends the section, as the length of an entry is
// the only way to the next.
func (r *reader) read() error {
	r.cies = map[uint64]*cie{}
	for pos := uint64(0); pos+4 <= r.s.size && !r.b.full; {
		e, ok, err := r.s.readEntry(pos)
		if err == nil && ok {
			err = r.entry(e)
		}
		if errors.Is(err, errEntry) {
			if e.next == 0 { // the length itself is damaged
				r.b.broken = true
				return nil
			}
			r.b.stats.Damaged++
			err = nil
		}
		if err != nil {
			return err
		}
		if !ok && r.s.tillZero {
			return nil
		}
		pos = e.next
	}
	return nil
}

func (r *reader) entry(e entry) error {
	if r.s.isCIE(e) {
		return nil // decoded when a function refers to it
	}
	at, ok := r.s.ciePos(e)
	if !ok {
		return errEntry
	}
	c, err := r.cie(at)
	if err != nil {
		return err
	}
	if c.bad {
		return errEntry
	}
	return r.function(e, c)
}

// cie returns the common entry at a position.
func (r *reader) cie(at uint64) (*cie, error) {
	if r.last != nil && r.lastAt == at {
		return r.last, nil
	}
	c := r.cies[at]
	if c == nil {
		e, ok, err := r.s.readEntry(at)
		if err != nil {
			return nil, err
		}
		if !ok || !r.s.isCIE(e) {
			return nil, errEntry
		}
		if c, err = r.s.parseCIE(e, &r.b.m); err != nil {
			return nil, err
		}
		if len(r.cies) >= maxCIEs {
			clear(r.cies)
		}
		r.cies[at] = c
	}
	r.last, r.lastAt = c, at
	return c, nil
}

// function makes rows of the entry of a function.
func (r *reader) function(e entry, c *cie) error {
	body, err := r.s.bytes(e)
	if err != nil {
		return err
	}
	p := program{
		cursor: cursor{b: body}, cie: c, m: &r.b.m, at: r.s.at + e.body, bases: r.s.bases,
		state: c.initial, remembered: r.stack[:0],
	}
	start, ok := p.pointer(c.encoding, p.at, p.bases)
	if !ok {
		return errEntry
	}
	size, ok := p.value(c.encoding)
	if !ok {
		return errEntry
	}
	if c.augmented {
		p.take(p.uleb()) // where the exception tables are
	}
	if p.bad || start+size < start {
		return errEntry
	}
	if !r.b.begin(start, start+size) {
		return nil
	}
	r.b.stats.Functions++
	if c.signal {
		r.b.add(start, Row{Kind: KindSignal})
		return nil
	}
	r.run(&p, start, start+size)
	r.stack = p.remembered
	if all := p.m.dataRegisters(); p.saved&all == all && len(r.b.installers) < maxInstallers {
		r.b.installers = append(r.b.installers, codeRange{start, start + size})
	}
	return nil
}

// run makes rows of the instructions for [start, limit).
func (r *reader) run(p *program, start, limit uint64) {
	p.pc = start
	for {
		next, more, reason := p.run()
		if reason != 0 {
			r.b.stats.Unsupported[reason]++
			r.b.add(p.pc, stop(reason))
			return
		}
		if !more || next > p.pc {
			row, reason := p.m.row(&p.state)
			if reason != 0 {
				r.b.stats.Unsupported[reason]++
			}
			r.b.add(p.pc, row)
		}
		if !more || next >= limit || r.b.full {
			return
		}
		p.pc = next
	}
}
