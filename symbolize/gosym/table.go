package gosym

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"unsafe"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// ErrNotGo is wrapped by the error of Open for files without a line table.
var ErrNotGo = errors.New("no Go line table")

// Table names the code of a Go program. It is safe for concurrent use.
type Table struct {
	h     *header
	base  addr.File // what entries are relative to; 0 before Go 1.18
	start addr.File // of the first function
	limit addr.File // end of the last function
	data  addr.File // what data of functions is relative to; 0 if not known

	goVersion string

	mu    sync.Mutex // guards what follows
	m     *memory
	index []uint32 // the entry of each indexStep-th function, relative to start
	names interned
}

// indexStep is how many functions share a number of the index.
const indexStep = 64

// Open finds and checks the line table of a Go program. It reads what it needs
// by r, which must read the same file as f; f is not used afterwards, r is used
// as long as the table. The error wraps ErrNotGo if the file has no line table,
// ErrFormat if it has one that makes no sense or is older than Go 1.16, and
// else is one of r.
func Open(f *elffile.File, r io.ReaderAt) (*Table, error) {
	m, err := newMemory(f, r)
	if err != nil {
		return nil, err
	}
	h, err := findHeader(f, m)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, ErrNotGo
	}
	t := &Table{h: h, m: m}
	mod, ok, err := h.findModule(f, m)
	if err != nil {
		return nil, err
	}
	if err := t.place(mod, ok); err != nil {
		return nil, err
	}
	if err := t.makeIndex(); err != nil {
		return nil, err
	}
	if ok && h.version >= Version118 {
		t.findData(mod)
	}
	t.goVersion = goVersion(f, m)
	return t, nil
}

// place sets where the text lies. The module data knows; before Go 1.26 the
// header does as well, and before 1.18 entries are addresses.
func (t *Table) place(mod module, known bool) error {
	first, err := t.h.entry(t.m, 0)
	if err != nil {
		return err
	}
	last, err := t.h.entry(t.m, t.h.funcs)
	if err != nil {
		return err
	}
	switch {
	case t.h.version < Version118:
	case known:
		t.base = mod.text(t.m, first, last)
	default:
		t.base = t.h.textStart
	}
	t.start, t.limit = t.base+addr.File(first), t.base+addr.File(last)
	if t.start == 0 || t.limit <= t.start || t.limit-t.start > 1<<32-1 || !t.m.executable(t.start, t.limit) {
		return fmt.Errorf("%w: functions at %#x to %#x are not in an executable segment", ErrFormat, uint64(t.start), uint64(t.limit))
	}
	return nil
}

func errUnsorted(i uint64) error {
	return fmt.Errorf("%w: functions are not sorted at number %d", ErrFormat, i)
}

// makeIndex reads the entry of each indexStep-th function.
func (t *Table) makeIndex() error {
	last := uint64(0)
	var index []uint32
	for i := uint64(0); i < t.h.funcs; i += indexStep {
		e, err := t.h.entry(t.m, i)
		if err != nil {
			return err
		}
		e -= uint64(t.start - t.base)
		if e < last || e > uint64(t.limit-t.start) {
			return errUnsorted(i)
		}
		last = e
		index = append(index, uint32(e))
	}
	t.index = append(make([]uint32, 0, len(index)), index...)
	return nil
}

// find returns the number of the function whose range holds pc.
func (t *Table) find(pc addr.File) (uint64, bool, error) {
	if pc < t.start || pc >= t.limit {
		return 0, false, nil
	}
	rel := uint32(pc - t.start)
	lo, hi := 0, len(t.index)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.index[mid] <= rel {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0, false, nil
	}
	// The last entry that is not above pc, of those up to the next in the index.
	from := uint64(lo-1) * indexStep
	to := min(from+indexStep, t.h.funcs)
	for from+1 < to {
		mid := from + (to-from)/2
		e, err := t.h.entry(t.m, mid)
		if err != nil {
			return 0, false, err
		}
		if t.base+addr.File(e) <= pc {
			from = mid
		} else {
			to = mid
		}
	}
	return from, true, nil
}

// findRecord reads the function whose range holds pc.
func (t *Table) findRecord(pc addr.File) (record, bool, error) {
	i, ok, err := t.find(pc)
	if !ok || err != nil {
		return record{}, false, err
	}
	f, err := t.readRecord(i)
	if err != nil || pc < f.entry || pc >= f.limit {
		return record{}, false, err
	}
	return f, true, nil
}

// Version is the layout of the table.
func (t *Table) Version() Version { return t.h.version }

// GoVersion is the release that built the program, such as "go1.26.8", "" if
// it does not say.
func (t *Table) GoVersion() string { return t.goVersion }

// Len is the number of functions that the table has.
func (t *Table) Len() int { return int(t.h.funcs) }

// Text returns the range that the functions of the table lie in. Code of other
// languages lies before and after it.
func (t *Table) Text() (start, limit addr.File) { return t.start, t.limit }

// Inlines tells whether inlined calls can be read. If not, lookups give the
// functions alone.
func (t *Table) Inlines() bool { return t.h.version < Version118 || t.data != 0 }

// tableBytes is about what a table takes without its pages and names.
const tableBytes = int64(unsafe.Sizeof(Table{})+unsafe.Sizeof(header{})+unsafe.Sizeof(memory{})) + 2048

// Bytes is the memory that the table holds now.
func (t *Table) Bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return tableBytes + int64(len(t.m.ring))*(pageBytes+int64(unsafe.Sizeof(page{}))+16) +
		int64(cap(t.index))*4 + t.names.bytes + int64(cap(t.names.scratch))
}

// MaxBytes is the most that the table may come to hold.
func (t *Table) MaxBytes() int64 {
	return tableBytes + maxPages*(pageBytes+int64(unsafe.Sizeof(page{}))+16) + int64(cap(t.index))*4 + maxInterned + 2*maxName
}
