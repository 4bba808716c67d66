package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"math"
	"slices"
	"unsafe"
)

// call is an inlined call.
type call struct {
	origin uint64 // of the function that was inlined: offset in .debug_info
	parent int32  // the call around it, -1 for the function itself
	file   uint32 // of the call, an index of the unit's files
	line   uint32
}

const (
	// inSupplement marks an origin in the supplementary file. Offsets never
	// reach this bit because files have less than 2^63 bytes.
	inSupplement = uint64(1) << 63
	// noOrigin is the origin of calls that do not tell theirs.
	noOrigin = ^uint64(0)
	noFile   = ^uint32(0)
)

// callTable has the inlined calls of one function.
type callTable struct {
	calls []call
	cuts  []cut // which addresses are of which call
}

func (t *callTable) bytes() int64 {
	return int64(len(t.calls))*int64(unsafe.Sizeof(call{})) + int64(len(t.cuts))*int64(unsafe.Sizeof(cut{})) + 64
}

// ignored stands for entries whose calls belong to another function.
const ignored = int32(-2)

// loadCalls reads the inlined calls of a function of the unit.
func (s *session) loadCalls(u *unit, entry uint32) (*callTable, error) {
	t := &callTable{}
	var spans []span
	around := []int32{-1} // by depth: the call that the entries there are in
	err := s.walk(u, u.head.off+uint64(entry), func(d decl, c *cursor) error {
		depth := s.depth
		if depth == 0 {
			return u.skip(c, d)
		}
		for len(around) <= depth { // depth grows by one at most
			around = append(around, ignored)
		}
		around[depth] = around[depth-1]
		switch {
		case d.tag == dwarf.TagSubprogram:
			around[depth] = ignored
			return u.skip(c, d)
		case d.tag != dwarf.TagInlinedSubroutine || around[depth] == ignored:
			return u.skip(c, d)
		}
		if len(t.calls) >= maxInlines {
			return fmt.Errorf("%w: more than %d inlined calls in a function", ErrTooBig, maxInlines)
		}
		cl, p := u.call(c, d)
		if c.err != nil {
			return c.err
		}
		cl.parent = around[depth]
		id := int32(len(t.calls))
		t.calls = append(t.calls, cl)
		around[depth] = id
		return s.each(s.d.main, u.head, u.info, p, func(lo, hi uint64) error {
			if len(spans) >= maxSpans {
				return fmt.Errorf("%w: more than %d ranges in a function", ErrTooBig, maxSpans)
			}
			spans = append(spans, span{lo, hi, uint32(id), uint32(depth)})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("function at %#x: %w", u.head.off+uint64(entry), err)
	}
	t.calls = slices.Clip(t.calls)
	t.cuts = slices.Clone(flatten(spans))
	return t, nil
}

// call reads all values of an inlined call.
func (u *unit) call(c *cursor, d decl) (call, pcs) {
	cl := call{origin: noOrigin, file: noFile}
	var p pcs
	for _, sp := range u.abbrevs.specs[d.lo:d.hi] {
		switch sp.attr {
		case uint16(dwarf.AttrAbstractOrigin):
			switch v := u.head.value(c, sp); v.class {
			case classRef:
				cl.origin = v.u &^ inSupplement
			case classRefSup:
				cl.origin = v.u | inSupplement
			}
		case uint16(dwarf.AttrCallFile):
			cl.file = uint32(min(u.head.value(c, sp).u, math.MaxUint32))
		case uint16(dwarf.AttrCallLine):
			cl.line = uint32(min(u.head.value(c, sp).u, math.MaxUint32))
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
	return cl, p
}
