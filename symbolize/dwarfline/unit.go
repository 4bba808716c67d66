package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"slices"
)

// maxUnits bounds the units of a file; a browser with all its symbols has some
// tens of thousands.
const maxUnits = 1 << 20

// unitHead is the header of a unit in .debug_info.
type unitHead struct {
	off     uint64 // of the header
	die     uint64 // of the first entry
	end     uint64 // of the unit
	abbrev  uint64
	version uint8
	kind    uint8 // unitCompile and so on; 0 before DWARF 5

	addrSize uint8
	dwarf64  bool
}

// readUnits reads all headers but those of type units, which hold no functions
// and are referred to by signatures only. A damaged one ends the list, because
// nothing says where the next begins.
func readUnits(c *cursor) ([]unitHead, error) {
	var units []unitHead
	for pos := uint64(0); pos < c.sec.size; {
		c.seek(pos, c.sec.size)
		h, err := readUnit(c)
		if err == nil && len(units) >= maxUnits {
			err = fmt.Errorf("%w: more than %d units", ErrTooBig, maxUnits)
		}
		if err != nil {
			return slices.Clip(units), err
		}
		if h.kind != 0xff && h.kind != unitType && h.kind != unitSplitType {
			units = append(units, h)
		}
		pos = h.end
	}
	return slices.Clip(units), nil
}

// readUnit reads one header. A unit of a version that is not known has the
// kind 0xff.
func readUnit(c *cursor) (unitHead, error) {
	h := unitHead{off: c.pos}
	n, dwarf64 := c.initialLength()
	h.dwarf64 = dwarf64
	start := c.pos
	if c.err == nil && n > c.end-start {
		return h, fmt.Errorf("%w: unit at %#x of %#x bytes", ErrFormat, h.off, n)
	}
	h.end = start + n
	version := c.u16()
	if c.err == nil && (version < 2 || version > 5) {
		h.kind = 0xff
		return h, nil
	}
	h.version = uint8(version)
	if version >= 5 {
		h.kind = c.u8()
		h.addrSize = c.u8()
		h.abbrev = c.offset(dwarf64)
	} else {
		h.abbrev = c.offset(dwarf64)
		h.addrSize = c.u8()
	}
	switch h.kind {
	case unitSkeleton, unitSplitCompile:
		c.skip(8)
	case unitType, unitSplitType:
		c.skip(8)
		c.offset(dwarf64)
	case 0, unitCompile, unitPartial:
	default:
		h.kind = 0xff
	}
	h.die = c.pos
	if c.err != nil {
		return h, c.err
	}
	if h.die > h.end {
		return h, fmt.Errorf("%w: unit at %#x ends in its header", ErrFormat, h.off)
	}
	if h.addrSize != 4 && h.addrSize != 8 {
		h.kind = 0xff
	}
	return h, nil
}

// unitInfo is what the first entry of a unit says.
type unitInfo struct {
	tag          dwarf.Tag
	low, high    value
	ranges       value
	compDir      value
	stmtList     uint64
	hasLines     bool
	split        bool
	language     uint16
	strBase      uint64
	addrBase     uint64
	rnglistsBase uint64
	base         uint64 // low as an address, 0 if there is none
}

// info reads the first entry of a unit.
func (s *session) info(im *image, h *unitHead) (*unitInfo, error) {
	if info, ok := s.infos[h]; ok {
		return info, nil
	}
	if u := s.d.loaded[h]; u != nil && u.info != nil {
		return u.info, nil
	}
	c := s.cursor(im, secInfo)
	c.seek(h.die, h.end)
	code := c.uleb()
	if c.err != nil {
		return nil, fmt.Errorf("unit at %#x: %w", h.off, c.err)
	}
	info := &unitInfo{}
	if code == 0 {
		return info, nil
	}
	t, err := readAbbrevs(s.cursor(im, secAbbrev), h.abbrev, h, code)
	if err != nil {
		return nil, err
	}
	d, ok := t.find(code)
	if !ok {
		return nil, fmt.Errorf("%w: unit at %#x uses abbreviation %d", ErrFormat, h.off, code)
	}
	info.tag = d.tag
	for _, sp := range t.specs[d.lo:d.hi] {
		info.set(sp.attr, h.value(c, sp))
	}
	if c.err != nil {
		return nil, fmt.Errorf("unit at %#x: %w", h.off, c.err)
	}
	if h.kind == unitSkeleton || h.kind == unitSplitCompile {
		info.split = true
	}
	if info.low.class != classNone {
		if info.base, err = s.address(im, h, info, info.low); err != nil {
			return nil, err
		}
	}
	if s.infos == nil {
		s.infos = make(map[*unitHead]*unitInfo)
	}
	s.infos[h] = info
	return info, nil
}

func (i *unitInfo) set(attr uint16, v value) {
	switch attr {
	case uint16(dwarf.AttrLowpc):
		i.low = v
	case uint16(dwarf.AttrHighpc):
		i.high = v
	case uint16(dwarf.AttrRanges):
		i.ranges = v
	case uint16(dwarf.AttrCompDir):
		i.compDir = v
	case uint16(dwarf.AttrStmtList):
		i.stmtList, i.hasLines = v.u, true
	case uint16(dwarf.AttrLanguage):
		i.language = uint16(v.u)
	case uint16(dwarf.AttrStrOffsetsBase):
		i.strBase = v.u
	case uint16(dwarf.AttrAddrBase), attrGNUAddrBase:
		i.addrBase = v.u
	case uint16(dwarf.AttrRnglistsBase):
		i.rnglistsBase = v.u
	case attrGNUDwoName, attrDwoName:
		i.split = true
	}
}

// unitAt returns the unit that the entry at off is in.
func (im *image) unitAt(off uint64) (*unitHead, bool) {
	i, found := slices.BinarySearchFunc(im.units, off, func(h unitHead, off uint64) int {
		switch {
		case h.off < off:
			return -1
		case h.off > off:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || off < im.units[i].die || off >= im.units[i].end {
		return nil, false
	}
	return &im.units[i], true
}
