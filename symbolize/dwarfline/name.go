package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"math"
)

// functionName is what an entry and those it refers to say about a function.
type functionName struct {
	name    string // as written in the source
	linkage string // as the linker sees it, "" if it is the same or unknown
	line    uint32 // where the function starts
	scope   string // of functions without linkage name: what they are in
	decl    uint64 // the last entry of the chain, where the scope is seen
}

func (n *functionName) bytes() int64 { return int64(len(n.name)+len(n.linkage)+len(n.scope)) + 104 }

// maxHops bounds chains of references between entries; real ones have three.
const maxHops = 16

// name reads the name of the function whose entry is at off, which may have
// the mark inSupplement.
func (s *session) name(off uint64) (functionName, error) {
	var n functionName
	if off == noOrigin {
		return n, nil
	}
	im := s.d.main
	for range maxHops {
		if off&inSupplement != 0 {
			if im = s.d.supplement; im == nil {
				return n, ErrSupplement
			}
			off &^= inSupplement
		}
		if n.decl = off; im == s.d.supplement {
			n.decl |= inSupplement
		}
		next, err := s.nameStep(im, off, &n)
		if err != nil {
			return n, fmt.Errorf("function at %#x: %w", off, err)
		}
		if next == noOrigin || n.name != "" && n.linkage != "" && n.line != 0 {
			return n, nil
		}
		if im == s.d.supplement && next&inSupplement != 0 {
			return n, fmt.Errorf("%w: a supplement refers to another", ErrFormat)
		}
		off = next
	}
	return n, fmt.Errorf("%w: function at %#x refers to others without end", ErrFormat, off)
}

// nameStep adds what the entry at off says and returns what it refers to.
func (s *session) nameStep(im *image, off uint64, n *functionName) (next uint64, err error) {
	if err := s.units(im); err != nil {
		return 0, err
	}
	h, ok := im.unitAt(off)
	if !ok {
		return 0, fmt.Errorf("%w: it is in no unit", ErrFormat)
	}
	c := s.cursor(im, secInfo)
	c.window = pointWindow
	c.seek(off, h.end)
	code := c.uleb()
	t, d, err := s.decl(im, h, code)
	if err != nil {
		return 0, err
	}
	next = noOrigin
	var name, linkage value
	for _, sp := range t.specs[d.lo:d.hi] {
		switch sp.attr {
		case uint16(dwarf.AttrName):
			name = h.value(c, sp)
		case uint16(dwarf.AttrLinkageName), attrMIPSLinkageName:
			linkage = h.value(c, sp)
		case uint16(dwarf.AttrDeclLine):
			if v := h.value(c, sp); n.line == 0 {
				n.line = uint32(min(v.u, math.MaxUint32))
			}
		case uint16(dwarf.AttrSpecification), uint16(dwarf.AttrAbstractOrigin):
			switch v := h.value(c, sp); v.class {
			case classRef:
				next = v.u &^ inSupplement
			case classRefSup:
				next = v.u | inSupplement
			}
		default:
			h.skipValue(c, sp)
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	if n.name == "" {
		if n.name, err = s.text(im, h, name); err != nil {
			return 0, err
		}
	}
	if n.linkage == "" {
		if n.linkage, err = s.text(im, h, linkage); err != nil {
			return 0, err
		}
	}
	return next, nil
}

// decl returns an abbreviation of a unit.
func (s *session) decl(im *image, h *unitHead, code uint64) (*abbrevs, decl, error) {
	var t *abbrevs
	var err error
	if u := s.d.loaded[h]; u != nil && u.abbrevs != nil {
		t = u.abbrevs
	} else if t, err = readAbbrevs(s.cursor(im, secAbbrev), h.abbrev, h, code); err != nil {
		return nil, decl{}, err
	}
	d, ok := t.find(code)
	if !ok {
		return nil, decl{}, fmt.Errorf("%w: abbreviation %d is missing", ErrFormat, code)
	}
	return t, d, nil
}
