package dwarfline

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

const (
	// maxFiles bounds the files, and the folders, of one line table.
	maxFiles = 1 << 18
	// maxFormats is the limit of the format itself: the count is one byte.
	maxFormats = 255
)

// Contents of file entries (DWARF 5, table 7.27).
const (
	contentPath  = 1
	contentIndex = 2
)

// textRef says where a name is, so that names take no memory before they are
// wanted. Inline names have the class classString and are in .debug_line.
type textRef struct {
	off   uint64
	dir   uint32 // of a file
	class class
}

// lineHeader is the header of a line program (DWARF 5, section 6.2.4).
type lineHeader struct {
	version     uint16
	dwarf64     bool
	minLength   uint8
	lineBase    int8
	lineRange   uint8
	opcodeBase  uint8
	lengths     [256]uint8
	dirs, files []textRef
	program     uint64
	end         uint64
}

// readLineHeader reads the header at off and leaves the cursor at the program.
func readLineHeader(c *cursor, off uint64) (*lineHeader, error) {
	c.seek(off, c.sec.size)
	n, dwarf64 := c.initialLength()
	if c.err == nil && n > c.end-c.pos {
		return nil, fmt.Errorf("%w: line table at %#x of %#x bytes", ErrFormat, off, n)
	}
	h := &lineHeader{dwarf64: dwarf64, end: c.pos + n}
	c.seek(c.pos, h.end)
	h.version = c.u16()
	if c.err == nil && (h.version < 2 || h.version > 5) {
		return nil, fmt.Errorf("%w: line table of version %d", ErrUnsupported, h.version)
	}
	if h.version >= 5 {
		c.u8()                           // address size
		if c.u8() != 0 && c.err == nil { // segment selector size
			return nil, fmt.Errorf("%w: line table with segments", ErrUnsupported)
		}
	}
	length := c.offset(dwarf64)
	if c.err == nil && length > c.end-c.pos {
		return nil, fmt.Errorf("%w: line table at %#x with a header of %#x bytes", ErrFormat, off, length)
	}
	h.program = c.pos + length
	h.minLength = c.u8()
	if h.version >= 4 {
		if ops := c.u8(); c.err == nil && ops > 1 {
			return nil, fmt.Errorf("%w: line table with %d operations in an instruction", ErrUnsupported, ops)
		}
	}
	c.u8() // default of is_stmt
	h.lineBase = int8(c.u8())
	h.lineRange = c.u8()
	h.opcodeBase = c.u8()
	for i := 1; i < int(h.opcodeBase); i++ {
		h.lengths[i] = c.u8()
	}
	if c.err == nil && (h.lineRange == 0 || h.opcodeBase == 0) {
		return nil, fmt.Errorf("%w: line table at %#x with a range of %d", ErrFormat, off, h.lineRange)
	}
	if h.version >= 5 {
		h.dirs = h.entries(c)
		h.files = h.entries(c)
	} else {
		h.oldEntries(c)
	}
	c.seek(h.program, h.end)
	if c.err != nil {
		return nil, fmt.Errorf("line table at %#x: %w", off, c.err)
	}
	h.dirs, h.files = slices.Clip(h.dirs), slices.Clip(h.files)
	return h, nil
}

// oldEntries reads folders and files as they were before DWARF 5. Entry 0 is
// what the unit says.
func (h *lineHeader) oldEntries(c *cursor) {
	h.dirs = append(h.dirs, textRef{})
	for c.err == nil && len(h.dirs) < maxFiles {
		at := c.pos
		if c.skipString(); c.pos-at <= 1 {
			break
		}
		h.dirs = append(h.dirs, textRef{off: at, class: classString})
	}
	h.files = append(h.files, textRef{})
	for c.err == nil && len(h.files) < maxFiles {
		at := c.pos
		if c.skipString(); c.pos-at <= 1 {
			break
		}
		h.files = append(h.files, textRef{off: at, class: classString, dir: uint32(c.uleb())})
		c.uleb() // time
		c.uleb() // size
	}
}

// entries reads folders or files as DWARF 5 has them.
func (h *lineHeader) entries(c *cursor) []textRef {
	unit := unitHead{version: 5, dwarf64: h.dwarf64, addrSize: 8}
	var content [maxFormats]uint64
	var form [maxFormats]uint64
	formats := int(c.u8())
	for i := range formats {
		content[i], form[i] = c.uleb(), c.uleb()
	}
	count := c.uleb()
	if c.err != nil || count == 0 {
		return nil
	}
	if formats == 0 || count > maxFiles || count > c.end-c.pos {
		c.fail(fmt.Errorf("%w: %d files in a line table", ErrFormat, count))
		return nil
	}
	refs := make([]textRef, 0, count)
	for range count {
		var r textRef
		for i := range formats {
			if form[i] > 0xffff || form[i] == formIndirect {
				c.fail(fmt.Errorf("%w: form %#x in a line table", ErrFormat, form[i]))
			}
			if c.err != nil {
				return nil
			}
			switch content[i] {
			case contentPath:
				v := unit.direct(c, uint16(form[i]))
				r.off, r.class = v.u, v.class
			case contentIndex:
				r.dir = uint32(min(unit.direct(c, uint16(form[i])).u, maxFiles))
			default:
				unit.skipValue(c, spec{form: uint16(form[i])})
			}
		}
		refs = append(refs, r)
	}
	return refs
}

func (h *lineHeader) bytes() int64 {
	return int64(unsafe.Sizeof(*h)) + int64(cap(h.dirs)+cap(h.files))*int64(unsafe.Sizeof(textRef{}))
}

// path returns the path of a file, "" if there is no such file.
func (s *session) path(u *unit, file uint32) (string, error) {
	h := u.lines.header
	if file >= uint32(len(h.files)) || h.files[file].class == classNone {
		return "", nil
	}
	f := h.files[file]
	name, err := s.lineText(u, f)
	if err != nil || name == "" || strings.HasPrefix(name, "/") {
		return name, err
	}
	dir := ""
	if f.dir < uint32(len(h.dirs)) {
		if dir, err = s.lineText(u, h.dirs[f.dir]); err != nil {
			return "", err
		}
	}
	if !strings.HasPrefix(dir, "/") {
		comp, err := s.text(s.d.main, u.head, u.info.compDir)
		if err != nil {
			return "", err
		}
		if f.dir == 0 && h.version >= 5 && dir != "" { // it is the same folder
			comp = ""
		}
		dir = join(comp, dir)
	}
	return join(dir, name), nil
}

// join puts a path together as it was written, like the tools that people
// compare with do.
func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case name == "":
		return dir
	case strings.HasSuffix(dir, "/"):
		return dir + name
	}
	return dir + "/" + name
}

func (s *session) lineText(u *unit, r textRef) (string, error) {
	if r.class == classString {
		return s.stringAt(s.d.main, secLine, r.off)
	}
	return s.text(s.d.main, u.head, value{r.class, r.off})
}
