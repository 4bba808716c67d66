package jitdump

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by each error that the contents of a file cause.
var ErrFormat = errors.New("not a usable jitdump file")

// Sizes and numbers of the format (tools/perf/util/jitdump.h).
const (
	magic      = 0x4A695444 // as little-endian machines write it
	version    = 1
	v8Mark     = 0xdeadbeef // in the reserved field of V8's header
	headerSize = 40
	prefixSize = 16
	loadSize   = 40 // of the fixed part of a load record, without the prefix
	moveSize   = 48
	debugSize  = 16 // the same of a debug record
	entrySize  = 16 // of an entry of it without the file name

	recordLoad  = 0
	recordMove  = 1
	recordDebug = 2

	// flagArchTimestamp tells that times are of the machine's counter and not
	// of CLOCK_MONOTONIC.
	flagArchTimestamp = 1
)

const (
	// maxSize is the most code that one record may claim.
	maxSize = 64 << 20
	// maxName is the longest name that is taken, of code and of files.
	maxName = 16 << 10
	// maxDebug is the longest debug record that is read: some ten thousand lines.
	maxDebug = 1 << 20
	// maxHeader bounds the header, which may have unknown parts.
	maxHeader = 64 << 10
)

var le = binary.LittleEndian

// ProcessOf returns the process ID in the name of a log, as the process knows
// itself; ok is false if it is no such name.
func ProcessOf(file string) (pid int, ok bool) {
	digits, ok := strings.CutPrefix(path.Base(file), "jit-")
	if !ok {
		return 0, false
	}
	digits, ok = strings.CutSuffix(digits, ".dump")
	if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	pid, err := strconv.Atoi(digits)
	return pid, err == nil && pid > 0
}

// header is the start of a file.
type header struct {
	size    int64 // records begin behind it
	untimed bool  // times cannot be compared with others
	v8      bool
}

func parseHeader(b []byte) (h header, ok bool) {
	size := le.Uint32(b[8:])
	if le.Uint32(b) != magic || le.Uint32(b[4:]) != version || size < headerSize || size > maxHeader {
		return header{}, false
	}
	return header{
		size: int64(size), untimed: le.Uint64(b[32:])&flagArchTimestamp != 0,
		v8: le.Uint32(b[16:]) == v8Mark,
	}, true
}

// code is a load record. name is valid until the buffer is used again.
type code struct {
	start uint64
	size  uint32
	name  []byte
}

// parseLoad takes the start of a load record, with at least its name.
func parseLoad(b []byte) (c code, ok bool) {
	if len(b) < loadSize {
		return code{}, false
	}
	c.start = le.Uint64(b[16:])
	size := le.Uint64(b[24:])
	c.name, _, ok = bytes.Cut(b[loadSize:], []byte{0})
	if !ok || len(c.name) == 0 || len(c.name) > maxName || !plausible(c.start, size) {
		return code{}, false
	}
	c.size = uint32(size)
	return c, true
}

func plausible(start, size uint64) bool {
	return size > 0 && size <= maxSize && start+size > start
}

// move is a move record.
type move struct {
	from, to uint64
	size     uint32
}

func parseMove(b []byte) (m move, ok bool) {
	if len(b) < moveSize {
		return move{}, false
	}
	m.from, m.to = le.Uint64(b[16:]), le.Uint64(b[24:])
	size := le.Uint64(b[32:])
	if !plausible(m.from, size) || !plausible(m.to, size) {
		return move{}, false
	}
	m.size = uint32(size)
	return m, true
}
