package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

const (
	// maxDepth bounds how deep entries are nested; each level takes 4 bytes.
	maxDepth = 1 << 14
	// maxInlines bounds the inlined calls of one function. Interpreters and
	// generated code reach some ten thousand.
	maxInlines = 1 << 19
)

// unit is a unit that was read.
type unit struct {
	head    *unitHead
	info    *unitInfo
	abbrevs *abbrevs
	cuts    []cut    // which addresses are of which function
	entries []uint32 // where functions are, from the start of the unit
	bad     error    // why the unit has no answers

	lines *lineTable
	calls map[uint32]*callTable   // of functions
	names map[uint64]functionName // by the place of the entry
	paths map[uint32]string       // of files
	// scopes of this unit and of those that names of functions are in
	scopes map[*unitHead]scopeTable

	held int64
	used uint64
}

// loadUnit reads which functions a unit has.
func (s *session) loadUnit(h *unitHead) (*unit, error) {
	im := s.d.main
	u := &unit{
		head: h, calls: make(map[uint32]*callTable), names: make(map[uint64]functionName), paths: make(map[uint32]string),
	}
	if h.end-h.off > math.MaxUint32 {
		return nil, fmt.Errorf("%w: unit of %d bytes", ErrTooBig, h.end-h.off)
	}
	var err error
	if u.info, err = s.info(im, h); err != nil {
		return nil, err
	}
	if u.info.split {
		return nil, fmt.Errorf("unit at %#x: %w", h.off, ErrSplit)
	}
	if u.abbrevs, err = readAbbrevs(s.cursor(im, secAbbrev), h.abbrev, h, 0); err != nil {
		return nil, err
	}
	var spans []span
	err = s.walk(u, h.die, func(d decl, c *cursor) error {
		if d.tag != dwarf.TagSubprogram {
			return u.skip(c, d)
		}
		at := uint32(len(u.entries))
		n := len(spans)
		entry := s.entryStart - h.off
		p := u.pcs(c, d)
		if c.err != nil {
			return c.err
		}
		err := s.each(im, h, u.info, p, func(lo, hi uint64) error {
			if len(spans) >= maxSpans {
				return fmt.Errorf("%w: unit at %#x has more than %d ranges", ErrTooBig, h.off, maxSpans)
			}
			spans = append(spans, span{lo, hi, at, math.MaxUint32 - uint32(min(hi-lo, math.MaxUint32))})
			return nil
		})
		if len(spans) > n {
			u.entries = append(u.entries, uint32(entry))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("unit at %#x: %w", h.off, err)
	}
	u.cuts = slices.Clone(flatten(spans))
	u.entries = slices.Clip(u.entries)
	u.held = int64(unsafe.Sizeof(*u)) + int64(unsafe.Sizeof(*u.info)) + u.abbrevs.bytes() +
		int64(len(u.cuts))*int64(unsafe.Sizeof(cut{})) + int64(cap(u.entries))*4 + 256
	return u, nil
}

// walk calls visit for the entry at off and all below and, if off is the first
// of a unit, those beside it. visit reads all values of the entry from the
// cursor. s.entryStart and s.depth describe the entry.
func (s *session) walk(u *unit, off uint64, visit func(decl, *cursor) error) error {
	c := s.cursor(s.d.main, secInfo)
	c.window = scanWindow
	c.seek(off, u.head.end)
	s.depth = 0
	for c.more() {
		s.entryStart = c.pos
		code := c.uleb()
		if code == 0 {
			if s.depth--; s.depth <= 0 {
				break
			}
			continue
		}
		d, ok := u.abbrevs.find(code)
		if !ok {
			return fmt.Errorf("%w: entry at %#x uses abbreviation %d", ErrFormat, s.entryStart, code)
		}
		sibling := uint64(0)
		if d.children && holdsNoCode(d.tag) {
			sibling = u.sibling(c, d)
		} else if err := visit(d, c); err != nil {
			return err
		}
		if sibling > c.pos && sibling <= c.end {
			c.seek(sibling, c.end)
			continue
		}
		if d.children {
			if s.depth++; s.depth > maxDepth {
				return fmt.Errorf("%w: entries are nested %d deep", ErrTooBig, maxDepth)
			}
		} else if s.depth == 0 {
			break
		}
	}
	return c.err
}

// holdsNoCode tells which entries have children that are never functions.
func holdsNoCode(t dwarf.Tag) bool {
	switch t {
	case dwarf.TagEnumerationType, dwarf.TagArrayType, dwarf.TagSubroutineType, dwarf.TagVariant,
		dwarf.TagCallSite, 0x4109 /* DW_TAG_GNU_call_site */ :
		return true
	}
	return false
}

// skip passes all values of an entry.
func (u *unit) skip(c *cursor, d decl) error {
	if d.fixed >= 0 {
		c.skip(uint64(d.fixed))
		return c.err
	}
	for _, sp := range u.abbrevs.specs[d.lo:d.hi] {
		u.head.skipValue(c, sp)
	}
	return c.err
}

// sibling passes all values and returns the offset of the next entry beside
// this one, 0 if it does not say.
func (u *unit) sibling(c *cursor, d decl) uint64 {
	next := uint64(0)
	for _, sp := range u.abbrevs.specs[d.lo:d.hi] {
		if sp.attr == uint16(dwarf.AttrSibling) {
			if v := u.head.value(c, sp); v.class == classRef {
				next = v.u
			}
			continue
		}
		u.head.skipValue(c, sp)
	}
	return next
}

// pcs reads all values of an entry and returns those about addresses.
func (u *unit) pcs(c *cursor, d decl) pcs {
	var p pcs
	for _, sp := range u.abbrevs.specs[d.lo:d.hi] {
		switch sp.attr {
		case uint16(dwarf.AttrLowpc):
			p.low = u.head.value(c, sp)
		case uint16(dwarf.AttrHighpc):
			p.high = u.head.value(c, sp)
		case uint16(dwarf.AttrRanges):
			p.ranges = u.head.value(c, sp)
		default:
			u.head.skipValue(c, sp)
		}
	}
	return p
}
