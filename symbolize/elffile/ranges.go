package elffile

import (
	"io"
	"sort"

	"github.com/flametel/flametel/symbolize/addr"
)

// Ranges are all functions of a Functions, in eight bytes each. They are
// immutable.
type Ranges struct {
	base   uint64
	starts []int32 // relative to base, ascending
	sizes  []uint32
}

// RangeBytes is what a function takes in Ranges.
const RangeBytes = 8

// Load reads all functions, piece by piece: some milliseconds for a large
// program. Entries that make no sense, or are out of order, are left out. The
// error is one of the reader.
func (t *Functions) Load(r io.ReaderAt) (*Ranges, error) {
	out := &Ranges{base: t.base, starts: make([]int32, 0, t.count), sizes: make([]uint32, 0, t.count)}
	pairs, entry := make([]byte, 4<<10), make([]byte, entryBytes)
	entries := ahead{r: r, left: maxAhead}
	for at, end := t.table, t.table+t.count*pairBytes; at < end; at += uint64(len(pairs)) {
		pairs = pairs[:min(uint64(len(pairs)), end-at)]
		if err := readFull(r, pairs, at); err != nil {
			return nil, err
		}
		for b := pairs; len(b) > 0; b = b[pairBytes:] {
			start := int32(le.Uint32(b))
			if n := len(out.starts); n > 0 && start <= out.starts[n-1] {
				continue
			}
			size, err := t.entryRange(&entries, entry, t.relative(b[4:]), t.relative(b))
			if err != nil {
				return nil, err
			}
			if size > 0 {
				out.starts, out.sizes = append(out.starts, start), append(out.sizes, size)
			}
		}
	}
	return out, nil
}

// Find returns the range [start, limit) of the function that holds an address,
// zeros if none does.
func (r *Ranges) Find(at addr.File) (start, limit addr.File) {
	i := sort.Search(len(r.starts), func(i int) bool { return r.start(i) > uint64(at) }) - 1
	if i < 0 || uint64(at)-r.start(i) >= uint64(r.sizes[i]) {
		return 0, 0
	}
	return addr.File(r.start(i)), addr.File(r.start(i) + uint64(r.sizes[i]))
}

func (r *Ranges) start(i int) uint64 { return r.base + uint64(int64(r.starts[i])) }

// Bytes is the memory held.
func (r *Ranges) Bytes() int64 { return int64(cap(r.starts)) * RangeBytes }

// ahead reads entries, which mostly lie in the order of the functions, in large
// pieces. Those that do not, and all once the pieces would be more than
// maxAhead, are read one by one.
type ahead struct {
	r    io.ReaderAt
	buf  []byte
	off  int64 // of buf
	left int   // bytes
}

const (
	aheadBytes = 64 << 10
	maxAhead   = 64 << 20 // the largest browsers have 20 MB
)

// ReadAt is that of an io.ReaderAt.
func (a *ahead) ReadAt(b []byte, off int64) (int, error) {
	have := a.off + int64(len(a.buf)) - off
	if off >= a.off && have >= int64(len(b)) {
		return copy(b, a.buf[off-a.off:]), nil
	}
	if a.buf != nil && off < a.off || a.left < aheadBytes {
		return a.r.ReadAt(b, off)
	}
	if a.buf == nil {
		a.buf = make([]byte, aheadBytes)
	}
	a.left -= aheadBytes
	n, err := a.r.ReadAt(a.buf[:aheadBytes], off)
	a.buf, a.off = a.buf[:n], off
	if n < len(b) {
		return copy(b, a.buf), err
	}
	return copy(b, a.buf), nil
}
