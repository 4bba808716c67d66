package elffile

import (
	"debug/elf"

	"github.com/flametel/flametel/symbolize/addr"
)

// Segment is a part of a load segment that comes from the file: bytes
// [Offset, Offset+size) of the file are the file addresses [Start, Limit).
type Segment struct {
	Start, Limit addr.File
	Offset       addr.Offset
	Executable   bool
}

// Contains tells whether a lies in the segment.
func (s *Segment) Contains(a addr.File) bool { return a >= s.Start && a < s.Limit }

// pageMask rounds down to a page. Mappings are made of whole pages, so code may
// run from the bytes before and after a segment that share its pages; 4 KiB is
// the smallest page of all machines, larger ones only widen what is mapped.
const pageMask = 0xfff

// Segments returns the load segments that have bytes in the file. Segments
// whose range overflows are left out.
func (f *File) Segments() []Segment {
	var segs []Segment
	for i := range f.Progs {
		p := &f.Progs[i]
		n := min(p.FileSize, p.MemSize)
		if p.Type != elf.PT_LOAD || n == 0 {
			continue
		}
		start := uint64(p.Address)
		if start+n < start || uint64(p.Offset)+n < n {
			continue
		}
		segs = append(segs, Segment{
			Start: p.Address, Limit: p.Address + addr.File(n), Offset: p.Offset,
			Executable: p.Flags&elf.PF_X != 0,
		})
	}
	return segs
}

// FindSegment returns the load segment that holds the byte at off and the file
// address of that byte:
//
//	file address = off - p_offset + p_vaddr
//
// A byte may be in two segments because their pages are mapped whole and those
// of neighbours overlap in the file: executable segments come first, then an
// exact hit comes before one in the rest of a page.
func FindSegment(segs []Segment, off addr.Offset) (*Segment, addr.File, bool) {
	var best *Segment
	bestScore := 0
	for i := range segs {
		s := &segs[i]
		end := s.Offset + addr.Offset(s.Limit-s.Start)
		score := 0
		switch {
		case off >= s.Offset && off < end:
			score = 2
		case off >= s.Offset&^pageMask && off < s.Offset && uint64(s.Start) >= uint64(s.Offset-off):
			score = 1
		case off >= end && off < (end+pageMask)&^pageMask:
			score = 1
		default:
			continue
		}
		if s.Executable {
			score += 2
		}
		if score > bestScore {
			best, bestScore = s, score
		}
	}
	if best == nil {
		return nil, 0, false
	}
	return best, best.Start + addr.File(off) - addr.File(best.Offset), true
}
