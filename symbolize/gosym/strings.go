package gosym

import (
	"errors"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxInterned bounds the bytes of strings that are kept so that equal names
	// of several addresses are one string.
	maxInterned = 256 << 10
	// stringBytes is what a kept string takes beside its bytes.
	stringBytes = 64
)

// interned keeps the strings that were read last.
type interned struct {
	strings map[addr.File]string
	scratch []byte
	bytes   int64
}

// keep holds s under a key and returns it. If there are too many, all go.
func (n *interned) keep(key addr.File, s string) string {
	size := int64(len(s)) + stringBytes
	if n.strings == nil || n.bytes+size > maxInterned {
		n.strings = make(map[addr.File]string)
		n.bytes = 0
	}
	n.strings[key] = s
	n.bytes += size
	return s
}

// string reads the string at an offset of one of the parts of the table.
func (t *Table) string(part addr.File, off uint64) (string, error) {
	at := part + addr.File(off)
	n := &t.names
	if s, ok := n.strings[at]; ok {
		return s, nil
	}
	var err error
	if n.scratch, err = t.m.text(at, n.scratch[:0], maxName); err != nil {
		return "", err
	}
	return n.keep(at, string(n.scratch)), nil
}

// readableKey marks the keys of readable names; no address in a file is as high.
const readableKey = 1 << 63

// name reads the name of a function; raw is "" if it is readable as it is.
func (t *Table) name(off uint32) (name, raw string, err error) {
	raw, err = t.string(t.h.names, uint64(off))
	if err != nil || isReadable(raw) {
		return raw, "", err
	}
	key := readableKey | (t.h.names + addr.File(off))
	name, ok := t.names.strings[key]
	if !ok {
		name = t.names.keep(key, readable(raw))
	}
	if name == raw {
		return name, "", nil
	}
	return name, raw, nil
}

func isFormat(err error) bool { return errors.Is(err, ErrFormat) }
