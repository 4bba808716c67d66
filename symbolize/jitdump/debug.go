package jitdump

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// v8Shift is how much too large the addresses of V8's debug records are: the
// size of an ELF header, because perf puts the code behind one
// (v8/src/diagnostics/perf-jit.cc, kElfHeaderSize).
const v8Shift = 0x40

// debugLine says that code from an offset on is of a source line. file is
// valid until the buffer is used again.
type debugLine struct {
	offset uint32
	line   uint32
	file   []byte
}

// debugInfo are the lines of the code that will be loaded to an address,
// sorted by offset.
type debugInfo struct {
	start uint64
	lines []debugLine
	// garbled, if not 0, is the length of the name of the one file that all
	// lines are of, which is not known; padding may be part of it.
	garbled int
}

// parseDebug takes a debug record apart. A damaged record has the lines that
// come before the damage.
func parseDebug(b []byte, v8 bool) (d debugInfo, ok bool) {
	if len(b) < debugSize {
		return d, false
	}
	d.start = le.Uint64(b)
	count := le.Uint64(b[8:])
	b = b[debugSize:]
	base := d.start
	if v8 && len(b) >= 8 && le.Uint64(b)-d.start >= v8Shift {
		base += v8Shift
	}
	lines, sound := parseLines(b, count, base)
	if v8 && (!sound || !v8Files(lines)) {
		lines, d.garbled = parseGarbled(b, count, base)
	}
	d.lines = lines
	slices.SortStableFunc(d.lines, func(a, b debugLine) int { return int(a.offset) - int(b.offset) })
	return d, len(d.lines) > 0
}

// parseLines reads count entries; sound tells that all are there and fill b up
// to its padding.
func parseLines(b []byte, count, base uint64) (lines []debugLine, sound bool) {
	var file []byte
	sound = true
	for ; count > 0 && len(b) > entrySize; count-- {
		name, rest, ok := bytes.Cut(b[entrySize:], []byte{0})
		if !ok || len(name) > maxName {
			return lines, false
		}
		if string(name) != "\xff" { // the same as before
			file = name
		}
		if offset := le.Uint64(b) - base; offset < maxSize {
			lines = append(lines, debugLine{offset: uint32(offset), line: le.Uint32(b[8:]), file: file})
		} else {
			sound = false
		}
		b = rest
	}
	return lines, sound && count == 0 && len(b) < 8
}

// v8Files tells whether the file names may be those of V8: absolute or URLs.
func v8Files(lines []debugLine) bool {
	for i := range lines {
		file := string(lines[i].file)
		if i > 0 && file == string(lines[i-1].file) {
			continue
		}
		if !utf8.ValidString(file) || !strings.HasPrefix(file, "/") && !strings.Contains(file, ":") {
			return false
		}
	}
	return true
}

// parseGarbled reads records of which V8 released the file name before it
// wrote it (seen in node 20): names are of the right length, but their first
// bytes are anything, zeros too. If all are of one file, the entries have the
// same size, and numbers that make sense.
func parseGarbled(b []byte, count, base uint64) (lines []debugLine, length int) {
	if count == 0 || count > uint64(len(b))/(entrySize+1) {
		return nil, 0
	}
	size := len(b) / int(count)
	if len(b)-size*int(count) >= 8 || size > entrySize+maxName {
		return nil, 0
	}
	// The padding is less than 8 bytes, the rest of the division with it.
	for ; size > entrySize+1 && len(b)-size*int(count) < 8; size-- {
		if lines, ok := parseFixed(b, int(count), size, base); ok {
			return lines, size - entrySize - 1
		}
	}
	return nil, 0
}

// parseFixed reads entries of one size.
func parseFixed(b []byte, count, size int, base uint64) ([]debugLine, bool) {
	lines := make([]debugLine, 0, count)
	last := uint64(0)
	for i := range count {
		e := b[i*size:][:size]
		offset := le.Uint64(e) - base
		if offset >= maxSize || offset < last || e[size-1] != 0 {
			return nil, false
		}
		last = offset
		lines = append(lines, debugLine{offset: uint32(offset), line: le.Uint32(e[8:])})
	}
	return lines, true
}
