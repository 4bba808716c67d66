package perfmap

import "bytes"

// maxSize is the most code that one line may claim. Larger claims are no
// functions, but would hide the names of all others.
const maxSize = 64 << 20

// line is a parsed line; name is valid until the buffer is used again.
type line struct {
	start uint64
	size  uint32
	name  []byte
}

// parseLine takes a line without its newline apart. Numbers may have the
// prefix "0x", as Java agents write them, and lines may end as on Windows.
func parseLine(b []byte) (l line, ok bool) {
	start, b, ok1 := hexField(b)
	size, b, ok2 := hexField(b)
	name := bytes.TrimSuffix(bytes.TrimLeft(b, " "), []byte{'\r'})
	if !ok1 || !ok2 || size == 0 || size > maxSize || start+size < start || len(name) == 0 {
		return line{}, false
	}
	return line{start: start, size: uint32(size), name: name}, true
}

// hexField takes a hexadecimal number that a space ends.
func hexField(b []byte) (v uint64, rest []byte, ok bool) {
	if len(b) > 2 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		b = b[2:]
	}
	for i, c := range b {
		switch {
		case c == ' ' && i > 0:
			return v, b[i+1:], true
		case v>>60 != 0:
			return 0, nil, false
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, nil, false
		}
	}
	return 0, nil, false
}
