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
	s := string(n.scratch)
	if size := int64(len(s)) + stringBytes; n.strings == nil || n.bytes+size > maxInterned {
		n.strings = map[addr.File]string{at: s}
		n.bytes = size
	} else {
		n.strings[at] = s
		n.bytes += size
	}
	return s, nil
}

func isFormat(err error) bool { return errors.Is(err, ErrFormat) }
