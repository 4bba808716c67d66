// Package dwarfline answers one question from the DWARF debug information of
// an ELF file: which functions, inlined ones included, and which source lines
// does the instruction at a file address belong to.
//
// Little is read and less is held. Opening looks at section headers only. The
// first lookup makes an index of address ranges to units, from .debug_aranges
// and, for units that are not in it, from the first entry of each unit. A unit
// that is hit is walked once for the ranges of its functions, and its line
// program is run once into about four bytes a row; the inlined calls of a
// function are read when an address in that function is asked for. Sections
// are read in small windows; compressed ones are decompressed when they are
// needed, into memory up to a limit, else into scratch files if the caller has
// room for such. What units hold is counted, bounded and dropped when it was not
// used for longest.
//
// DWARF 2 to 5 is read. Nothing is guessed: if what an answer needs lies in a
// file that is not at hand (split units, dwz supplements), is damaged or is
// beyond a limit, there is an error and no answer.
//
// Answers are those of addr2line -f -i and llvm-symbolizer, except that
//
//   - addr2line (2.40) prints the symbol of the machine code for entries that
//     have no linkage name, even if the entry is of an inlined function; here it
//     is the name in the source.
//   - addr2line takes the file of some functions that headers define from the
//     unit and not from the line table; llvm-symbolizer agrees with us.
//   - Both put the folder of the compilation before itself if it is relative
//     ("./libio/./libio/genops.c"); here it stands once.
//   - addr2line knows no inlined functions in files with type units, nor those
//     with ranges by index, which clang writes.
//
// Files are hostile. Each size and count is checked before it is used, and
// each lookup has a budget of work that ends loops which only hostile files
// have.
package dwarfline
