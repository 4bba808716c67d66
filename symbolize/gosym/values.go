package gosym

import (
	"fmt"

	"github.com/flametel/flametel/symbolize/addr"
)

// maxSteps bounds what a lookup decodes of a function's tables, all of them
// together. Functions of a megabyte have some ten thousand steps a table; a
// damaged table of this length takes about 10 ms.
const maxSteps = 1 << 20

// values decodes a table of values by address: pairs of a signed change of the
// value and of the length for which it holds, as varints; a change of zero
// ends the table, except in the first pair.
type values struct {
	t     *Table
	at    addr.File // of the next byte to view
	b     []byte    // viewed and not yet decoded
	first bool

	start, limit addr.File // for which value holds
	value        int32
}

// newValues begins the table at an offset for the function at entry. Until the
// first call of next there is no value.
func (t *Table) newValues(off uint32, entry addr.File) values {
	return values{t: t, at: t.h.tables + addr.File(off), first: true, start: entry, limit: entry, value: -1}
}

// next goes to the next value; ok is false at the end. It uses up steps.
func (v *values) next(steps *int) (ok bool, err error) {
	if *steps--; *steps < 0 {
		return false, fmt.Errorf("%w: the tables of the function at %#x are too long", ErrFormat, uint64(v.start))
	}
	change, err := v.varint()
	if err != nil || change == 0 && !v.first {
		return false, err
	}
	length, err := v.varint()
	if err != nil {
		return false, err
	}
	v.first = false
	v.value += int32(-(change & 1) ^ (change >> 1))
	v.start = v.limit
	v.limit += addr.File(length) * addr.File(v.t.h.quantum)
	if v.limit < v.start {
		return false, fmt.Errorf("%w: the tables of a function leave the address space", ErrFormat)
	}
	return true, nil
}

// varint decodes 7 bits a byte, the lowest first, up to 32 bits.
func (v *values) varint() (uint32, error) {
	var n uint32
	for shift := 0; shift < 35; shift += 7 {
		if len(v.b) == 0 {
			b, err := v.t.m.view(v.at)
			if err != nil {
				return 0, err
			}
			v.b = b
			v.at += addr.File(len(b))
		}
		c := v.b[0]
		v.b = v.b[1:]
		n |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: a number of a table has no end", ErrFormat)
}

// valueAt returns the value at pc; ok is false if there is no table or if it
// ends before.
func (t *Table) valueAt(off uint32, entry, pc addr.File, steps *int) (value int32, ok bool, err error) {
	if off == 0 {
		return -1, false, nil
	}
	v := t.newValues(off, entry)
	for {
		if ok, err := v.next(steps); !ok || err != nil {
			return -1, false, err
		}
		if pc < v.limit {
			return v.value, true, nil
		}
	}
}
