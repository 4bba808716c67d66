// Package unwind compiles the unwind information of an ELF file into rows that
// say, for each address of its code, how to find the caller: where the caller's
// frame begins, and where its frame pointer and the return address are saved.
//
// Rows are what the BPF walker reads, 8 bytes each and sorted by address; the
// layout and the numbers of the kinds are a contract with bpf/src. Walk does in
// Go what the walker does in the kernel, step by step, so that rows are tested
// against a debugger without privileges.
//
// Sources are, in this order and each only where those before it say nothing:
// the line table of Go programs, .eh_frame (found by its section, else by its
// program header), .debug_frame of the file, and that of a separate debug file.
// Formats: DWARF 5 section 6.4 for call frame information, Linux Standard Base
// Core 5.0 section 10.6 for .eh_frame, the psABI supplements of x86-64 and of
// AArch64 for registers.
//
// Files are hostile: sections are read through a window, each entry is decoded
// once, and counts are bounded. What cannot be expressed in a row becomes an
// explicit row that stops the walk, with its reason; a row is never a guess.
package unwind
