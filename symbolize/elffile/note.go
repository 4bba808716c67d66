package elffile

import (
	"bytes"
	"debug/elf"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxNotes bounds what is read of one note segment or section. Build IDs
	// come first; some vendors' notes that follow them are long.
	maxNotes = 64 << 10
	// maxNoteParts bounds how many note segments and sections are looked at.
	maxNoteParts = 64
	// MaxGNUBuildID is the longest build ID that is believed. The kernel takes
	// up to 20 bytes (include/linux/buildid.h, BUILD_ID_SIZE_MAX); linkers can
	// be told longer ones.
	MaxGNUBuildID = 64
	// maxGoBuildID bounds the Go build ID, which is four hashes of about 20
	// characters (cmd/internal/buildid).
	maxGoBuildID = 256
)

// Types of notes: NT_GNU_BUILD_ID of elf.h, and the tag of cmd/link's ELF
// note for the Go build ID (ELF_NOTE_GOBUILDID_TAG).
const (
	noteGNUBuildID = 3
	noteGoBuildID  = 4
)

// BuildIDs are the identities that linkers note in a file.
type BuildIDs struct {
	GNU []byte
	Go  string
}

// BuildIDs looks in all note segments, then in all note sections. Damaged
// notes are the same as none.
func (f *File) BuildIDs() BuildIDs {
	var ids BuildIDs
	parts := 0
	look := func(off addr.Offset, size uint64, align uint64) bool {
		if parts++; parts > maxNoteParts {
			return false
		}
		// Notes aligned to 8 are laid out so only if all of them are; those of
		// old linkers say 8 and mean 4, and build IDs are found either way
		// because they come first.
		b, err := f.read(uint64(off), min(size, maxNotes), "notes")
		if err == nil {
			ids.scan(b, align)
		}
		return ids.GNU == nil || ids.Go == ""
	}
	for i := range f.Progs {
		p := &f.Progs[i]
		if p.Type == elf.PT_NOTE && !look(p.Offset, p.FileSize, p.Align) {
			return ids
		}
	}
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Type == elf.SHT_NOTE && !look(s.Offset, s.Size, 4) {
			return ids
		}
	}
	return ids
}

// scan walks through notes up to the first that does not fit.
func (ids *BuildIDs) scan(b []byte, align uint64) {
	if align != 8 {
		align = 4
	}
	for len(b) >= 12 {
		nameSize, descSize := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
		typ := le.Uint32(b[8:])
		descAt := alignUp(12+nameSize, align)
		end := descAt + descSize
		if end > uint64(len(b)) {
			return
		}
		ids.take(typ, b[12:12+nameSize], b[descAt:end])
		b = b[min(alignUp(end, align), uint64(len(b))):]
	}
}

func (ids *BuildIDs) take(typ uint32, name, desc []byte) {
	if len(desc) == 0 {
		return
	}
	switch {
	case typ == noteGNUBuildID && string(name) == "GNU\x00" && len(desc) <= MaxGNUBuildID && ids.GNU == nil:
		ids.GNU = bytes.Clone(desc)
	case typ == noteGoBuildID && string(name) == "Go\x00\x00" && len(desc) <= maxGoBuildID && ids.Go == "":
		ids.Go = string(bytes.TrimRight(desc, "\x00"))
	}
}

func alignUp(v, align uint64) uint64 { return (v + align - 1) &^ (align - 1) }
