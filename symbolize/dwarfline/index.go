package dwarfline

import (
	"fmt"
	"math"
	"slices"
)

const (
	// maxUnitSpans bounds the ranges of all units; a browser built with a
	// section for each function has about a million.
	maxUnitSpans = 1 << 21
	// maxSpans bounds the ranges in one unit.
	maxSpans = 1 << 20
)

// makeIndex reads which addresses belong to which unit.
func (d *Data) makeIndex() error {
	s := &session{d: d, work: budget{indexWork}}
	if err := s.units(d.main); err != nil {
		return err
	}
	units := d.main.units
	b := indexBuilder{s: s, known: make([]bool, len(units))}
	if err := b.aranges(); err != nil {
		return err
	}
	for i := range units {
		h := &units[i]
		if b.known[i] || h.kind == unitPartial {
			continue
		}
		if err := b.scan(i, h); err != nil {
			return err
		}
	}
	cuts := flatten(b.spans)
	d.index = mergeGaps(cuts)
	d.damaged = b.damaged
	return nil
}

// mergeGaps lets units keep the gaps between their own ranges: whether there
// is a function at an address is known once the unit was read.
func mergeGaps(cuts []cut) []cut {
	out := cuts[:0]
	for i, c := range cuts {
		n := len(out)
		if c.id == nobody && n > 0 && i+1 < len(cuts) && cuts[i+1].id == out[n-1].id {
			continue
		}
		if n > 0 && out[n-1].id == c.id {
			continue
		}
		out = append(out, c)
	}
	return slices.Clone(out)
}

// units reads the unit headers of a file once.
func (s *session) units(im *image) error {
	if im.units != nil || im.bad != nil {
		return im.bad
	}
	c := s.cursor(im, secInfo)
	units, err := readUnits(c)
	if err != nil && len(units) == 0 {
		if !passing(err) {
			im.bad = err
		}
		return err
	}
	if err != nil && passing(err) {
		return err
	}
	s.forget()
	im.units = units
	return nil
}

type indexBuilder struct {
	s       *session
	spans   []span
	known   []bool // units that .debug_aranges has
	damaged error  // why a unit was left out
}

func (b *indexBuilder) add(unit int, lo, hi uint64) error {
	if len(b.spans) >= maxUnitSpans {
		return fmt.Errorf("%w: more than %d ranges of addresses", ErrTooBig, maxUnitSpans)
	}
	// Of two that begin at one address, the smaller wins.
	b.spans = append(b.spans, span{lo, hi, uint32(unit), math.MaxUint32 - uint32(min(hi-lo, math.MaxUint32))})
	return nil
}

// scan adds the ranges that the first entry of a unit tells.
func (b *indexBuilder) scan(i int, h *unitHead) error {
	info, err := b.s.info(b.s.d.main, h)
	n := len(b.spans)
	if err == nil {
		delete(b.s.infos, h)
		err = b.s.each(b.s.d.main, h, info, pcs{info.low, info.high, info.ranges}, func(lo, hi uint64) error {
			return b.add(i, lo, hi)
		})
	}
	if err == nil {
		return nil
	}
	if passing(err) || b.s.work.left < 0 || len(b.spans) >= maxUnitSpans {
		return err
	}
	b.spans = b.spans[:n]
	b.damaged = err
	b.s.forget()
	return nil
}

// aranges adds what .debug_aranges says (DWARF 5, section 6.1.2). Damage ends
// the reading; units that were not seen are scanned.
func (b *indexBuilder) aranges() error {
	im := b.s.d.main
	if im.sec[secAranges].size == 0 {
		return nil
	}
	c := b.s.cursor(im, secAranges)
	c.window = scanWindow
	for pos := uint64(0); c.err == nil && pos < c.sec.size; {
		c.seek(pos, c.sec.size)
		n, dwarf64 := c.initialLength()
		if c.err != nil || n > c.end-c.pos {
			break
		}
		end := c.pos + n
		c.end = end
		if err := b.set(c, pos, dwarf64); err != nil {
			return err
		}
		pos = end
	}
	if c.err != nil && passing(c.err) {
		return c.err
	}
	return nil
}

// set reads the ranges of one unit.
func (b *indexBuilder) set(c *cursor, start uint64, dwarf64 bool) error {
	version, off := c.u16(), c.offset(dwarf64)
	size, segment := c.u8(), c.u8()
	if c.err != nil || version != 2 || segment != 0 || size != 4 && size != 8 {
		return nil
	}
	units := b.s.d.main.units
	i, found := slices.BinarySearchFunc(units, off, func(h unitHead, off uint64) int {
		if h.off < off {
			return -1
		}
		if h.off > off {
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	tuple := uint64(size) * 2
	if odd := (c.pos - start) % tuple; odd != 0 {
		c.skip(tuple - odd)
	}
	// Not up to the first empty one only: linkers leave those of discarded
	// functions in the middle.
	n := len(b.spans)
	for c.err == nil && c.end-c.pos >= tuple {
		lo := c.uint(size)
		hi := lo + c.uint(size)
		if c.err != nil || lo >= hi || !b.s.d.isCode(lo) {
			continue
		}
		if err := b.add(i, lo, hi); err != nil {
			return err
		}
	}
	b.known[i] = len(b.spans) > n
	return nil
}
