package gosym

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// The build information (debug/buildinfo): a header of 32 bytes, aligned to 16,
// near the start of initialized data.
const (
	buildInfoMagic = "\xff Go buildinf:"
	buildInfoFlags = 15 // in the header; since Go 1.18 bit 1 is set, and the
	buildInfoEnd   = 32 // version follows the header, with its length as a varint
	// buildInfoReach is how much of each segment is searched.
	buildInfoReach = 256 << 10
	// maxVersion bounds the version; those of private toolchains name
	// experiments and commits.
	maxVersion = 256
)

// goVersion reads the version of the toolchain, "" if there is none.
func goVersion(f *elffile.File, m *memory) string {
	if s, ok := f.Section(".go.buildinfo"); ok {
		if v := readGoVersion(m, s.Address); v != "" {
			return v
		}
	}
	version := ""
	for _, s := range writable(f) {
		limit := min(s.Limit, s.Start+buildInfoReach)
		// What cannot be read has no version; the table is good without it.
		_ = m.scan(s.Start, limit, buildInfoEnd, func(at addr.File, b []byte) bool {
			return eachIndex(b, []byte(buildInfoMagic), func(i int) bool {
				version = readGoVersion(m, at+addr.File(i))
				return version == ""
			})
		})
		if version != "" {
			break
		}
	}
	return version
}

func readGoVersion(m *memory, at addr.File) string {
	var b [buildInfoEnd + maxVersion]byte
	if m.read(at, b[:buildInfoEnd]) != nil || !bytes.HasPrefix(b[:], []byte(buildInfoMagic)) {
		return ""
	}
	if b[buildInfoFlags]&2 == 0 {
		// Before 1.18: a pointer to a Go string.
		s, err := m.pointer(at + 16)
		if err != nil {
			return ""
		}
		text, err := m.pointer(s)
		if err != nil {
			return ""
		}
		size, err := m.uint(s+addr.File(m.ptrSize), m.ptrSize)
		if err != nil {
			return ""
		}
		return versionText(m, text, size)
	}
	var n [2]byte // 256 needs no more
	if m.read(at+buildInfoEnd, n[:]) != nil {
		return ""
	}
	size, used := binary.Uvarint(n[:])
	if used <= 0 {
		return ""
	}
	return versionText(m, at+buildInfoEnd+addr.File(used), size)
}

// versionText reads a version of that many bytes.
func versionText(m *memory, at addr.File, size uint64) string {
	if size == 0 || size > maxVersion {
		return ""
	}
	b := make([]byte, size)
	if m.read(at, b) != nil || strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' }) {
		return ""
	}
	return string(b)
}
