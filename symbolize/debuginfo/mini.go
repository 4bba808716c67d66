package debuginfo

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/flametel/flametel/symbolize/elffile"
)

// ErrNone tells that there is nothing of the kind that was asked for.
var ErrNone = errors.New("no debug information")

const (
	// MaxMiniCompressed and MaxMini bound a compressed symbol table before and
	// after it is unpacked. The largest libraries built (browsers) have about
	// 20 MB of symbols; twice MaxMini is all the memory that unpacking takes.
	MaxMiniCompressed = 32 << 20
	MaxMini           = 64 << 20

	miniSection = ".gnu_debugdata"
)

// Mini unpacks the MiniDebugInfo of a program: an ELF file with the symbols
// that the program's .dynsym does not have, in the section .gnu_debugdata
// (https://sourceware.org/gdb/current/onlinedocs/gdb.html/MiniDebugInfo.html).
// Its file addresses are the program's, its load segments hold no bytes. It
// returns ErrNone if there is no such section.
func Mini(f *elffile.File) (*bytes.Reader, error) {
	s, ok := f.Section(miniSection)
	if !ok {
		return nil, fmt.Errorf("section %s: %w", miniSection, ErrNone)
	}
	packed, err := f.Data(s, MaxMiniCompressed)
	if err != nil {
		return nil, err
	}
	b, err := unpack(packed, MaxMini)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", miniSection, err)
	}
	return bytes.NewReader(b), nil
}
