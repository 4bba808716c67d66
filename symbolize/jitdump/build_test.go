package jitdump

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// log builds a file as a runtime would write it.
type log struct{ b []byte }

func newLog(flags uint64, mark uint32) *log {
	l := &log{}
	l.u32(magic, version, headerSize, 62, mark, 4711)
	l.u64(12345, flags)
	return l
}

func (l *log) u32(v ...uint32) {
	for _, v := range v {
		l.b = le.AppendUint32(l.b, v)
	}
}

func (l *log) u64(v ...uint64) {
	for _, v := range v {
		l.b = le.AppendUint64(l.b, v)
	}
}

// record appends a record; its size is set to that of what body appends.
func (l *log) record(kind uint32, at uint64, body func()) *log {
	from := len(l.b)
	l.u32(kind, 0)
	l.u64(at)
	body()
	le.PutUint32(l.b[from+4:], uint32(len(l.b)-from))
	return l
}

func (l *log) load(at, start, size uint64, name string, codeBytes int) *log {
	return l.record(recordLoad, at, func() {
		l.u32(4711, 4712)
		l.u64(start, start, size, 1)
		l.b = append(l.b, name+"\x00"...)
		l.b = append(l.b, strings.Repeat("\x90", codeBytes)...)
	})
}

func (l *log) move(at, from, to, size uint64) *log {
	return l.record(recordMove, at, func() {
		l.u32(4711, 4712)
		l.u64(to, from, to, size, 1)
	})
}

type at struct {
	address uint64
	line    uint32
	file    string
}

func (l *log) debug(start uint64, lines ...at) *log {
	return l.record(recordDebug, 1, func() {
		l.u64(start, uint64(len(lines)))
		for _, d := range lines {
			l.u64(d.address)
			l.u32(d.line, 0)
			l.b = append(l.b, d.file+"\x00"...)
		}
	})
}

func update(t testing.TB, r *Reader, text []byte) (changed bool) {
	t.Helper()
	changed, more, err := r.Update(strings.NewReader(string(text)), int64(len(text)))
	require.NoError(t, err)
	require.False(t, more)
	return changed
}

func nameAt(r *Reader, a addr.Virtual, nanos uint64) string {
	c, _ := r.Lookup(a, nanos)
	return c.Name
}
