// Package addr gives each kind of address a type of its own, so that a value
// of one kind cannot be passed where another is meant.
//
// The chain from a sample to a symbol is
//
//	Virtual --(mapping: v - start + file offset)--> Offset
//	Offset  --(load segment that holds the offset: off - p_offset + p_vaddr)--> File
//
// There is no single "base address" of a file: each load segment may have its
// own difference between Offset and File.
package addr

// Virtual is an address in a running process (or in the kernel).
type Virtual uint64

// Offset is a byte position in a file.
type Offset uint64

// File is an address as it is written in an ELF file: symbol values, unwind
// rows and program headers (p_vaddr) use it.
type File uint64
