package dwarfline

import (
	"cmp"
	"fmt"
	"slices"
)

// span is a range of file addresses [lo, hi) that belongs to id. Of the spans
// that begin at the same address the one with the highest priority is on top.
type span struct {
	lo, hi   uint64
	id       uint32
	priority uint32
}

// cut is where the owner of addresses changes; it lasts to the next cut.
type cut struct {
	start uint64
	id    uint32
}

const nobody = ^uint32(0)

// flatten turns spans that may overlap into cuts: each address belongs to the
// span that begins last. It sorts spans.
func flatten(spans []span) []cut {
	slices.SortFunc(spans, func(a, b span) int {
		if o := cmp.Compare(a.lo, b.lo); o != 0 {
			return o
		}
		return cmp.Compare(a.priority, b.priority)
	})
	var cuts []cut
	put := func(start uint64, id uint32) {
		if n := len(cuts); n > 0 {
			if cuts[n-1].start == start {
				cuts = cuts[:n-1]
				n--
			}
			if n > 0 && cuts[n-1].id == id || n == 0 && id == nobody {
				return
			}
		} else if id == nobody {
			return
		}
		cuts = append(cuts, cut{start, id})
	}
	var open []int32 // the last is on top
	closeUpTo := func(addr uint64) {
		for len(open) > 0 {
			top := &spans[open[len(open)-1]]
			if top.hi > addr {
				return
			}
			end := top.hi
			for len(open) > 0 && spans[open[len(open)-1]].hi <= end {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				put(end, spans[open[len(open)-1]].id)
			} else {
				put(end, nobody)
			}
		}
	}
	for i := range spans {
		closeUpTo(spans[i].lo)
		open = append(open, int32(i))
		put(spans[i].lo, spans[i].id)
	}
	closeUpTo(^uint64(0))
	return cuts
}

// find returns who owns an address.
func find(cuts []cut, addr uint64) (uint32, bool) {
	lo, hi := 0, len(cuts)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if cuts[mid].start <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 || cuts[lo-1].id == nobody {
		return 0, false
	}
	return cuts[lo-1].id, true
}

// pcs are the attributes that say which addresses an entry is about.
type pcs struct{ low, high, ranges value }

// each calls emit for each range of addresses, without those of code that is
// not in the file: linkers leave the entries of discarded functions behind,
// with addresses where no code is.
func (s *session) each(im *image, h *unitHead, info *unitInfo, p pcs, emit func(lo, hi uint64) error) error {
	add := func(lo, hi uint64) error {
		if lo >= hi || !s.d.isCode(lo) {
			return nil
		}
		s.work.left -= 16
		if s.work.left < 0 {
			return fmt.Errorf("%w: too many ranges of addresses", ErrTooBig)
		}
		return emit(lo, hi)
	}
	if p.ranges.class != classNone {
		if h.version >= 5 {
			return s.rnglist(im, h, info, p.ranges, add)
		}
		return s.rangeList(im, h, info, p.ranges, add)
	}
	if p.low.class == classNone || p.high.class == classNone {
		return nil
	}
	lo, err := s.address(im, h, info, p.low)
	if err != nil {
		return err
	}
	if p.high.class == classConst {
		return add(lo, lo+p.high.u)
	}
	hi, err := s.address(im, h, info, p.high)
	if err != nil {
		return err
	}
	return add(lo, hi)
}

// rangeList reads a list of .debug_ranges (DWARF 4, section 2.17.3).
func (s *session) rangeList(im *image, h *unitHead, info *unitInfo, v value, add func(lo, hi uint64) error) error {
	c := s.cursor(im, secRanges)
	c.seek(v.u, c.sec.size)
	base, top := info.base, h.maxAddress()
	for c.err == nil {
		lo, hi := c.uint(h.addrSize), c.uint(h.addrSize)
		switch {
		case c.err != nil:
		case lo == 0 && hi == 0:
			return nil
		case lo == top:
			base = hi
		case lo < hi:
			if err := add(base+lo, base+hi); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("ranges at %#x: %w", v.u, c.err)
}

func (h *unitHead) maxAddress() uint64 {
	if h.addrSize == 4 {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}

// rnglist reads a list of .debug_rnglists (DWARF 5, section 2.17.3).
func (s *session) rnglist(im *image, h *unitHead, info *unitInfo, v value, add func(lo, hi uint64) error) error {
	c := s.cursor(im, secRnglists)
	off := v.u
	if v.class == classListx {
		size := uint8(4)
		if h.dwarf64 {
			size = 8
		}
		n, err := s.index(c, info.rnglistsBase, v.u, size)
		if err != nil {
			return err
		}
		off = info.rnglistsBase + n
	}
	c.seek(off, c.sec.size)
	base := info.base
	addrx := func() uint64 {
		a, err := s.address(im, h, info, value{classAddrx, c.uleb()})
		if err != nil {
			c.fail(err)
		}
		return a
	}
	for c.err == nil {
		var lo, hi uint64
		switch kind := c.u8(); kind {
		case rangeEnd:
			if c.err == nil {
				return nil
			}
		case rangeBaseAddrx:
			base = addrx()
			continue
		case rangeBaseAddr:
			base = c.uint(h.addrSize)
			continue
		case rangeStartxEndx:
			lo, hi = addrx(), addrx()
		case rangeStartxLength:
			lo = addrx()
			hi = lo + c.uleb()
		case rangeOffsetPair:
			lo, hi = c.uleb(), c.uleb()
			if base >= h.maxAddress()-1 { // code that was discarded
				continue
			}
			lo, hi = base+lo, base+hi
		case rangeStartEnd:
			lo, hi = c.uint(h.addrSize), c.uint(h.addrSize)
		case rangeStartLength:
			lo = c.uint(h.addrSize)
			hi = lo + c.uleb()
		default:
			c.fail(fmt.Errorf("%w: range of kind %#x", ErrFormat, kind))
		}
		if c.err == nil {
			if err := add(lo, hi); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("ranges at %#x: %w", off, c.err)
}
