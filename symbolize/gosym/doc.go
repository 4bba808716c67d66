// Package gosym names code of Go programs by the line table that the Go
// linker puts into each of them (the "pclntab", which the runtime needs to
// print stacks and to collect garbage, so that stripping cannot remove it).
//
// The table is found by its section, by the module data of the runtime (whose
// first words point to all parts of the table), or by its magic number; it
// gives functions, files, lines and inlined calls, and how far the stack
// pointer has moved at each instruction. The layouts of Go 1.16 to 1.17, 1.18
// to 1.19 and 1.20 and later are read, of 32 and 64 bits, little-endian.
// Programs whose text is in several sections (the linker makes them for arm
// and ppc64 if code is out of reach of a branch) are named only in the first.
//
// Files are hostile: every offset is checked where it is used, loops are
// bounded, and nothing is allocated by the say of the file. Little is held: 4
// bytes for each 64 functions and some pages of the file; all else is read
// again when it is asked for.
//
// Answers are those of the runtime and of go tool addr2line, with these
// exceptions: padding between functions and the marks that the linker puts into
// the text ("go:textfipsstart") have no name, where Go's tools count them to
// the function before; the function whose name comes first in the table has its
// name, which the runtime leaves empty; and if the inlined call at an address
// is not known, neither is the line.
//
// Layouts are those of the Go sources: cmd/link/internal/ld/pcln.go (who writes
// the table), runtime/symtab.go (pcHeader, moduledata), runtime/runtime2.go
// (_func), runtime/symtabinl.go (inlinedCall) and internal/abi/symtab.go.
package gosym
