// Package elffile reads those parts of ELF files that say which code lies
// where: load segments, sections, build IDs and symbols.
//
// Files are hostile: a profiler reads whatever any user runs. Each count and
// each size is checked against the size of the file before anything is
// allocated or read for it, damaged parts are left out without losing the
// sound ones, and files are read by ReadAt and never mapped, so that a file
// that shrinks while it is read gives an error and not a SIGBUS.
//
// Little-endian files of 32 and 64 bits are read, of any machine; stubs of the
// procedure linkage table are known for x86 and AArch64.
package elffile
