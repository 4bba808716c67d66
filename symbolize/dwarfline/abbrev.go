package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"unsafe"
)

const (
	// maxDecls and maxSpecs bound one table of abbreviations. Those of large
	// LTO units have a few thousand entries.
	maxDecls = 1 << 17
	maxSpecs = 1 << 19
)

// spec is one attribute of an abbreviation.
type spec struct {
	attr     uint16
	form     uint16
	implicit int32 // value of DW_FORM_implicit_const, saturated
}

// decl is one abbreviation.
type decl struct {
	tag      dwarf.Tag
	children bool
	fixed    int32 // size of all values, -1 if that depends on the values
	lo, hi   uint32
}

// abbrevs is a table of abbreviations for units of one format. Compilers
// number them from one upwards.
type abbrevs struct {
	dense  []decl
	sparse map[uint64]decl
	specs  []spec
}

func (t *abbrevs) bytes() int64 {
	return int64(cap(t.dense))*int64(unsafe.Sizeof(decl{})) + int64(cap(t.specs))*int64(unsafe.Sizeof(spec{})) +
		int64(len(t.sparse))*48
}

func (t *abbrevs) find(code uint64) (decl, bool) {
	if i := code - 1; i < uint64(len(t.dense)) {
		return t.dense[i], true
	}
	d, ok := t.sparse[code]
	return d, ok
}

// readAbbrevs reads the table at off for the units like h. With only set,
// reading stops at the abbreviation of that number.
func readAbbrevs(c *cursor, off uint64, h *unitHead, only uint64) (*abbrevs, error) {
	t := &abbrevs{}
	c.seek(off, c.sec.size)
	for c.err == nil {
		code := c.uleb()
		if code == 0 {
			break
		}
		wanted := only == 0 || code == only
		d := decl{tag: dwarf.Tag(c.uleb()), children: c.u8() != 0, lo: uint32(len(t.specs))}
		d.fixed = readSpecs(c, t, h)
		if len(t.dense)+len(t.sparse) >= maxDecls || len(t.specs) > maxSpecs {
			return nil, fmt.Errorf("%w: abbreviations at %#x", ErrTooBig, off)
		}
		d.hi = uint32(len(t.specs))
		switch {
		case !wanted:
			t.specs = t.specs[:d.lo]
		case code == uint64(len(t.dense))+1:
			t.dense = append(t.dense, d)
		default:
			if t.sparse == nil {
				t.sparse = make(map[uint64]decl)
			}
			if _, ok := t.sparse[code]; !ok {
				t.sparse[code] = d
			}
		}
		if code == only {
			break
		}
	}
	if c.err != nil {
		return nil, fmt.Errorf("abbreviations at %#x: %w", off, c.err)
	}
	return t, nil
}

// readSpecs appends the attributes of an abbreviation and returns the size of
// their values.
func readSpecs(c *cursor, t *abbrevs, h *unitHead) int32 {
	fixed := int32(0)
	for c.err == nil && len(t.specs) <= maxSpecs {
		attr, form := c.uleb(), c.uleb()
		s := spec{attr: uint16(min(attr, 0xffff)), form: uint16(min(form, 0xffff))}
		if form == formImplicitConst {
			s.implicit = int32(max(min(c.sleb(), 1<<31-1), -1<<31))
		}
		if attr == 0 && form == 0 {
			break
		}
		t.specs = append(t.specs, s)
		if n := h.formSize(s.form); n < 0 || fixed < 0 {
			fixed = -1
		} else {
			fixed += n
		}
	}
	return fixed
}
