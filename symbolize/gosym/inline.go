package gosym

import (
	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// probes is how many functions are looked at to know the data of functions.
	probes = 64
	// maxProbed bounds how many functions are passed to find so many.
	maxProbed = 4096
)

// findData sets where the data of functions starts. The place in the module
// data depends on the version, and may depend on versions yet to come: what is
// there must make sense as inlined calls, else other places are tried.
func (t *Table) findData(mod module) {
	word := wordData120
	if t.h.version == Version118 {
		word = wordData118
	}
	offsets := t.probe()
	if v := mod.word(t.m, word); t.plausible(v, offsets) {
		t.data = v
		return
	}
	for n := wordDataFirst; n <= wordDataLast; n++ {
		if v := mod.word(t.m, n); len(offsets) > 0 && t.plausible(v, offsets) {
			t.data = v
			return
		}
	}
}

// probed is a function with inlined calls.
type probed struct {
	offset uint64 // of its calls in the data of functions
	size   uint64 // of its code
}

// probe collects some functions with inlined calls, from all of the table.
func (t *Table) probe() []probed {
	var found []probed
	saved := t.data
	// With data at 1 an offset can be told from none.
	t.data = 1
	defer func() { t.data = saved }()
	step := max(t.h.funcs/maxProbed, 1)
	for i := uint64(0); i < t.h.funcs && len(found) < probes; i += step {
		f, err := t.readRecord(i)
		if err == nil && f.calls != 0 {
			found = append(found, probed{uint64(f.calls) - 1, uint64(f.limit - f.entry)})
		}
	}
	return found
}

// plausible tells whether there are inlined calls at nearly all of these offsets
// from data.
func (t *Table) plausible(data addr.File, offsets []probed) bool {
	if _, ok := t.m.segment(data); !ok || data == 0 {
		return false
	}
	good := 0
	for _, o := range offsets {
		if t.plausibleCall(data+addr.File(o.offset), o.size) {
			good++
		}
	}
	return good*10 >= len(offsets)*9
}

// plausibleCall tells whether there is an inlined call at an address, for a
// function of that many bytes.
func (t *Table) plausibleCall(at addr.File, size uint64) bool {
	call, err := t.readCall(at, 0)
	if err != nil || uint64(call.parent) >= size {
		return false
	}
	if call.name == 0 {
		return call.parent != 0 // zeros are anything
	}
	// Names are stored one after the other: there is an end before each.
	name := t.h.names + addr.File(call.name)
	if end, err := t.m.uint(name-1, 1); err != nil || end != 0 {
		return false
	}
	b, err := t.m.text(name, nil, maxName)
	return err == nil && looksLikeName(b)
}

// looksLikeName tells whether b may be the name of a function: something with
// a package.
func looksLikeName(b []byte) bool {
	dot := false
	for _, c := range b {
		if c < ' ' {
			return false
		}
		dot = dot || c == '.'
	}
	return dot
}
