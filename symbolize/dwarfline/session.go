package dwarfline

import (
	"fmt"
)

// session is one lookup that has to read: its windows on sections and its
// budget. Nothing of it stays.
type session struct {
	d       *Data
	work    budget
	cursors map[*section]*cursor
	infos   map[*unitHead]*unitInfo

	entryStart uint64 // see walk
	depth      int
}

// cursor returns the cursor of a section, unpacked if it is a compressed one.
// Each section has one, so whoever uses it seeks first.
func (s *session) cursor(im *image, id sectionID) *cursor {
	sec := &im.sec[id]
	if c, ok := s.cursors[sec]; ok {
		return c
	}
	c := &cursor{sec: sec, work: &s.work, window: pointWindow}
	if s.cursors == nil {
		s.cursors = make(map[*section]*cursor)
	}
	s.cursors[sec] = c
	if err := s.d.unpack(sec); err != nil {
		c.fail(fmt.Errorf("section .debug_%s: %w", sectionNames[id], err))
	}
	return c
}

// forget clears the errors of all cursors, so that one damaged unit does not
// hide the others.
func (s *session) forget() { clear(s.cursors) }

// index reads entry i of a table of numbers of this size that begins at base.
func (s *session) index(c *cursor, base, i uint64, size uint8) (uint64, error) {
	if i > c.sec.size || base > c.sec.size {
		return 0, fmt.Errorf("%w: entry %d of a table at %#x", ErrFormat, i, base)
	}
	c.seek(base+i*uint64(size), c.sec.size)
	v := c.uint(size)
	return v, c.err
}

// address turns a value into a file address.
func (s *session) address(im *image, h *unitHead, info *unitInfo, v value) (uint64, error) {
	switch v.class {
	case classAddr:
		return v.u, nil
	case classAddrx:
		return s.index(s.cursor(im, secAddr), info.addrBase, v.u, h.addrSize)
	}
	return 0, fmt.Errorf("%w: unit at %#x: no address where one should be", ErrFormat, h.off)
}

// text returns the string that a value stands for.
func (s *session) text(im *image, h *unitHead, v value) (string, error) {
	id := secStr
	switch v.class {
	case classNone:
		return "", nil
	case classString:
		id = secInfo
	case classStrp:
	case classLineStrp:
		id = secLineStr
	case classStrpSup:
		if im = s.d.supplement; im == nil {
			return "", ErrSupplement
		}
	case classStrx:
		info, err := s.info(im, h)
		if err != nil {
			return "", err
		}
		size := uint8(4)
		if h.dwarf64 {
			size = 8
		}
		if v.u, err = s.index(s.cursor(im, secStrOffsets), info.strBase, v.u, size); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%w: no string where one should be", ErrFormat)
	}
	return s.stringAt(im, id, v.u)
}

func (s *session) stringAt(im *image, id sectionID, off uint64) (string, error) {
	c := s.cursor(im, id)
	c.seek(off, c.sec.size)
	text := c.str()
	if c.err != nil {
		return "", fmt.Errorf("string at %#x: %w", off, c.err)
	}
	return text, nil
}
