package procmap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// MaxMappings bounds the mappings taken from one process. The kernel's own
	// bound is vm.max_map_count, 65530 by default and some millions on hosts
	// that run databases; code is seldom in more than a few thousand.
	MaxMappings = 1 << 16
	// maxLines bounds the lines looked at, executable or not.
	maxLines = 1 << 21
	// maxLine is room for the fixed columns and a path of PATH_MAX (4096) bytes
	// of which each is escaped to four.
	maxLine = 80 + 4*4096
)

// ErrTooMany tells that a process has more mappings than MaxMappings; those
// that came first are returned with it.
var ErrTooMany = errors.New("too many mappings")

// Parse reads the format of /proc/PID/maps and returns the executable
// mappings in the order of the text. Lines that make no sense are left out.
// The error is one of r, or ErrTooMany; what was read before it is returned.
func Parse(r io.Reader) ([]Mapping, error) { return parse(r, false) }

// ParseAll is Parse for mappings of every protection.
func ParseAll(r io.Reader) ([]Mapping, error) { return parse(r, true) }

func parse(r io.Reader, all bool) ([]Mapping, error) {
	var ms []Mapping
	br := bufio.NewReaderSize(r, maxLine)
	for range maxLines {
		line, err := br.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = skipLine(br)
			line = nil
		}
		if m, ok := parseLine(line, all); ok {
			if len(ms) == MaxMappings {
				return ms, fmt.Errorf("read mappings: more than %d: %w", MaxMappings, ErrTooMany)
			}
			ms = append(ms, m)
		}
		if err == io.EOF {
			return ms, nil
		}
		if err != nil {
			return ms, fmt.Errorf("read mappings: %w", err)
		}
	}
	return ms, fmt.Errorf("read mappings: more than %d lines: %w", maxLines, ErrTooMany)
}

// skipLine reads up to the end of a line that is too long.
func skipLine(br *bufio.Reader) error {
	for {
		_, err := br.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// parseLine takes one line apart (fs/proc/task_mmu.c, show_map_vma):
//
//	7f0c8d600000-7f0c8d756000 r-xp 00026000 fe:01 1835045   /usr/lib/libc.so.6
//
// The name is the rest of the line after one run of spaces.
func parseLine(line []byte, all bool) (m Mapping, ok bool) {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	start, line, ok1 := hexField(line, '-')
	limit, line, ok2 := hexField(line, ' ')
	if !ok1 || !ok2 || limit <= start || len(line) < 5 || line[4] != ' ' {
		return m, false
	}
	exec := line[2] == 'x'
	if !exec && !all {
		return m, false
	}
	offset, line, ok1 := hexField(line[5:], ' ')
	major, line, ok2 := hexField(line, ':')
	minor, line, ok3 := hexField(line, ' ')
	if !ok1 || !ok2 || !ok3 || major > 1<<32-1 || minor > 1<<32-1 {
		return m, false
	}
	inode, line, ok := decimal(line)
	if !ok {
		return m, false
	}
	m = Mapping{
		Start: addr.Virtual(start), Limit: addr.Virtual(limit), Offset: addr.Offset(offset),
		Dev: DeviceNumber(uint32(major), uint32(minor)), Inode: inode, Executable: exec,
	}
	name := bytes.TrimLeft(line, " ")
	if inode != 0 {
		// Only files can be deleted; a name of memory is whatever a process chose.
		name, m.Deleted = bytes.CutSuffix(name, []byte(" (deleted)"))
	}
	m.Path = unescape(name)
	return m, true
}

// hexField takes a hexadecimal number that ends with the byte end.
func hexField(b []byte, end byte) (v uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c == end && i > 0:
			return v, b[i+1:], true
		case v>>60 != 0:
			return 0, nil, false
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return 0, nil, false
		}
	}
	return 0, nil, false
}

// decimal takes a decimal number that ends at a space or with the line.
func decimal(b []byte) (v uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c == ' ' && i > 0:
			return v, b[i:], true
		case c < '0' || c > '9' || v > (1<<64-10)/10:
			return 0, nil, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, nil, len(b) > 0
}

// unescape undoes the \ooo escapes that the kernel writes for newlines
// (seq_path with "\n"). A backslash of the name itself is not escaped by the
// kernel, so only \012 can be meant.
func unescape(name []byte) string {
	return string(bytes.ReplaceAll(name, []byte(`\012`), []byte{'\n'}))
}
