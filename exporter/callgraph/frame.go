package callgraph

import (
	"cmp"
	"fmt"
	"path"
	"strings"
)

// Names of frames that stand for something other than a function.
const (
	NameUnknown   = "[unknown]"   // no name and no module
	NameTruncated = "[truncated]" // the stack went on, but was cut here
	NameFull      = "[not kept: memory limit]"
	NameIdle      = "[idle]" // CPUs that had nothing to do
)

// Frame is one call level. Two frames are the same if all fields are equal, so
// a graph built without detail leaves the fields of a single address at zero.
type Frame struct {
	Name string // never ""
	Kind Kind
	// Inlined marks a call that the compiler merged into the frame below it.
	Inlined bool
	// Type is the attribute profile.frame.type, "" if the source gave none.
	Type string
	// Module is the file that the code was mapped from, "" if unknown.
	Module string
	// File and StartLine are where the function begins in its source.
	File      string
	StartLine int64

	// What follows is filled only in graphs with detail.

	// SystemName is the linker's name if it differs from Name.
	SystemName string
	// Line is the source line being executed.
	Line int64
	// Address is the address within Mapping; for a Thread, its ID.
	Address uint64
	// Mapping is shared: equal mappings have equal pointers within a graph.
	Mapping *Mapping
}

// Mapping is a range of a process's memory and what it was mapped from.
type Mapping struct {
	Start, Limit uint64 // addresses [Start, Limit), as Frame.Address
	Offset       uint64 // position of Start in the file, in bytes
	File         string
	BuildID      string
}

// Compare orders frames by name, then by every other field, so that the order
// of frames never depends on the order of the input.
func (f *Frame) Compare(g *Frame) int {
	return cmp.Or(
		cmp.Compare(f.Name, g.Name),
		cmp.Compare(f.Kind, g.Kind),
		compareBool(f.Inlined, g.Inlined),
		cmp.Compare(f.Module, g.Module),
		cmp.Compare(f.File, g.File),
		cmp.Compare(f.StartLine, g.StartLine),
		cmp.Compare(f.Line, g.Line),
		cmp.Compare(f.Address, g.Address),
		cmp.Compare(f.Type, g.Type),
		cmp.Compare(f.SystemName, g.SystemName),
		f.Mapping.Compare(g.Mapping),
	)
}

// contains reports whether the mapping has a range that holds an address.
func (m *Mapping) contains(address uint64) bool {
	return address >= m.Start && address < m.Limit
}

// Compare orders mappings by file, then by every other field; nil is first.
func (m *Mapping) Compare(n *Mapping) int {
	if m == n {
		return 0
	}
	if m == nil {
		return -1
	}
	if n == nil {
		return 1
	}
	return cmp.Or(
		cmp.Compare(m.File, n.File),
		cmp.Compare(m.BuildID, n.BuildID),
		cmp.Compare(m.Start, n.Start),
		cmp.Compare(m.Limit, n.Limit),
		cmp.Compare(m.Offset, n.Offset),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Unnamed returns the name of a frame that has none: [module]+0xoffset, or
// [unknown] if there is no module. The offset is a position in the module's
// file, because that is what a symbol table or a disassembler is asked for
// later: address - start of the mapping + file offset of the mapping. It is that
// of the function's start where it is known. An address
// outside the mapping's range is printed as it is. A kernel address says
// nothing to a reader and differs at each boot, so there it is [unknown], too.
func Unnamed(m *Mapping, address uint64) string {
	if m == nil || m.File == "" || isKernelImage(m.File) {
		return NameUnknown
	}
	offset := address
	if m.contains(address) {
		offset = address - m.Start + m.Offset
	}
	return fmt.Sprintf("%s+0x%x", bracketed(m.File), offset)
}

// bracketed returns the base name of a file in brackets. Names such as [vdso]
// have theirs already.
func bracketed(file string) string {
	base := path.Base(file)
	if strings.HasPrefix(base, "[") && strings.HasSuffix(base, "]") {
		return base
	}
	return "[" + base + "]"
}

// IsPlaceholder reports whether a name is one that is given to code without a
// name: [unknown], [truncated] or [module]+0xoffset.
func IsPlaceholder(name string) bool {
	switch name {
	case NameUnknown, NameTruncated, NameFull:
		return true
	}
	if !strings.HasPrefix(name, "[") {
		return false
	}
	i := strings.LastIndex(name, "]+0x")
	return i > 0 && isHex(name[i+len("]+0x"):])
}

func isHex(s string) bool {
	if s == "" || len(s) > 16 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}
