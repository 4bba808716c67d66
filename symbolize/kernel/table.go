package kernel

import (
	"bytes"
	"cmp"
	"slices"
	"unsafe"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxUnknownSize bounds a function that no symbol of its own module
	// follows. Nearly all functions are shorter, and memory behind it is not
	// its own.
	maxUnknownSize = 16 << 10
	// maxSize bounds any function, so that a hole in the list names nothing far
	// away. The longest of real kernels are some 100 KiB.
	maxSize = 1 << 20
	// maxPadding is the most bytes between a padding symbol and its function
	// (CONFIG_FUNCTION_PADDING_BYTES is 59 at most).
	maxPadding = 64
)

// Table holds the named code of a kernel: ranges that do not overlap. It is
// immutable and safe for concurrent use. It takes 18 bytes a function and the
// names.
type Table struct {
	ranges  []symbolRange
	module  []uint16 // of each range, nil if none is in a module
	names   []byte
	modules []string
	start   uint64 // of the kernel itself
	limit   uint64
}

type symbolRange struct {
	start uint64
	name  uint32
	size  uint32
}

// table chooses names and computes where functions end.
func (p *parser) table() *Table {
	slices.SortFunc(p.symbols, p.order)
	t := &Table{
		ranges: make([]symbolRange, 0, p.shown), module: make([]uint16, 0, p.shown),
		names: make([]byte, 0, len(p.names)), modules: p.modules,
	}
	for i := 0; i < len(p.symbols); {
		s := &p.symbols[i]
		next := i + 1
		for next < len(p.symbols) && p.symbols[next].addr == s.addr {
			next++ // its aliases, sorted behind it
		}
		// The last address there is has no room for code.
		if s.rank < rankPrefix && s.addr != 1<<64-1 {
			t.add(s.addr, p.end(s, next), s.module, p.names[s.name:][:s.length])
			t.pad(p.symbols[:i])
		}
		i = next
	}
	if len(p.modules) == 1 {
		t.module = nil
	}
	t.bounds()
	return t
}

// order sorts by address, the best of each address first: T over t over W,
// then fewer leading underscores, the shorter name, the alphabet.
func (p *parser) order(a, b symbol) int {
	if o := cmp.Compare(a.addr, b.addr); o != 0 {
		return o
	}
	if o := cmp.Compare(a.rank, b.rank); o != 0 || a.rank >= rankPrefix {
		return o
	}
	an, bn := p.names[a.name:][:a.length], p.names[b.name:][:b.length]
	return cmp.Or(
		cmp.Compare(underscores(an), underscores(bn)),
		cmp.Compare(len(an), len(bn)),
		bytes.Compare(an, bn),
		cmp.Compare(a.module, b.module),
	)
}

func underscores(name []byte) int { return len(name) - len(bytes.TrimLeft(name, "_")) }

// end returns where a function ends, next being the index of the symbol after
// it.
func (p *parser) end(s *symbol, next int) uint64 {
	size := uint64(maxSize)
	if next == len(p.symbols) || p.symbols[next].module != s.module {
		size = maxUnknownSize
	}
	end := s.addr + size
	if end < s.addr {
		end = 1<<64 - 1
	}
	if next < len(p.symbols) {
		end = min(end, p.symbols[next].addr)
	}
	return end
}

func (t *Table) add(start, end uint64, module uint16, name []byte) {
	t.ranges = append(t.ranges, symbolRange{start: start, size: uint32(end - start), name: uint32(len(t.names))})
	t.module = append(t.module, module)
	t.names = append(append(t.names, name...), 0)
}

// pad moves the start of the function added last down over the padding in
// front of it, if the symbol before it marks such: what runs there (call
// accounting, type checks) runs on behalf of this function.
func (t *Table) pad(before []symbol) {
	last := len(t.ranges) - 1
	r := &t.ranges[last]
	n := len(before)
	if n == 0 || before[n-1].rank != rankPrefix || r.start-before[n-1].addr > maxPadding {
		return
	}
	from := before[n-1].addr
	if last > 0 && t.ranges[last-1].start+uint64(t.ranges[last-1].size) > from {
		return // a function begins where the mark stands
	}
	r.size += uint32(r.start - from)
	r.start = from
}

// bounds notes from where to where the kernel itself has code.
func (t *Table) bounds() {
	for i, r := range t.ranges {
		if t.module == nil || t.module[i] == 0 {
			if t.start == 0 {
				t.start = r.start
			}
			t.limit = r.start + uint64(r.size)
		}
	}
}

// Lookup returns the index of the function that holds a.
func (t *Table) Lookup(a addr.Virtual) (index int, ok bool) {
	i, found := slices.BinarySearchFunc(t.ranges, uint64(a), func(r symbolRange, a uint64) int { return cmp.Compare(r.start, a) })
	if !found {
		i--
	}
	if i < 0 || uint64(a)-t.ranges[i].start >= uint64(t.ranges[i].size) {
		return 0, false
	}
	return i, true
}

// Name returns the name of a function.
func (t *Table) Name(index int) string { return string(t.nameAt(index)) }

func (t *Table) nameAt(index int) []byte {
	b := t.names[t.ranges[index].name:]
	return b[:bytes.IndexByte(b, 0)]
}

// Module returns the module of a function in brackets, "" for the kernel.
func (t *Table) Module(index int) string {
	if t.module == nil {
		return ""
	}
	return t.modules[t.module[index]]
}

// Range returns the addresses of a function.
func (t *Table) Range(index int) (start, limit addr.Virtual) {
	r := t.ranges[index]
	return addr.Virtual(r.start), addr.Virtual(r.start + uint64(r.size))
}

// Ranges returns the addresses of all functions that have one of these names.
func (t *Table) Ranges(names ...string) [][2]addr.Virtual {
	var out [][2]addr.Virtual
	for i := range t.ranges {
		if slices.Contains(names, string(t.nameAt(i))) {
			start, limit := t.Range(i)
			out = append(out, [2]addr.Virtual{start, limit})
		}
	}
	return out
}

// Text returns from where to where the kernel itself, without modules, has
// functions.
func (t *Table) Text() (start, limit addr.Virtual) {
	return addr.Virtual(t.start), addr.Virtual(t.limit)
}

// Hidden tells that the kernel shows no addresses to us (kptr_restrict, or
// CAP_SYSLOG is missing), so that all functions are at address zero. An empty
// table is a hidden one.
func (t *Table) Hidden() bool { return len(t.ranges) == 0 }

// Len is the number of functions.
func (t *Table) Len() int { return len(t.ranges) }

// Bytes is the memory that the table holds.
func (t *Table) Bytes() int64 {
	return int64(cap(t.ranges))*int64(unsafe.Sizeof(symbolRange{})) + int64(cap(t.module))*2 + int64(cap(t.names))
}
