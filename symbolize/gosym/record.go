package gosym

import (
	"fmt"

	"github.com/flametel/flametel/symbolize/addr"
)

// record is a function of the table (runtime._func) as far as it is needed.
type record struct {
	entry, limit addr.File // limit is where the next function starts

	name      uint32 // offset in names
	stack     uint32 // offsets in tables, 0 if there is none: stack pointer,
	file      uint32 // file and
	line      uint32 // line
	inline    uint32 // innermost inlined call
	unit      uint32 // index in units of its first file
	startLine int32  // 0 before Go 1.20
	flags     byte
	calls     addr.File // the inlined calls, 0 if there are none
}

// Flags of functions (internal/abi/symtab.go, FuncFlag).
const (
	flagTopFrame = 1 << iota
	flagWritesSP
	flagAssembly
)

// Indices of tables and data of a function, the same in all versions
// (internal/abi/symtab.go, before Go 1.21 runtime/symtab.go).
const (
	pcdataInlineIndex  = 2
	funcdataInlineTree = 3
	// maxPCData bounds the tables of a function; it has up to 5.
	maxPCData = 256
)

// readRecord reads function i.
func (t *Table) readRecord(i uint64) (record, error) {
	var f record
	h := t.h
	entry, err := h.entry(t.m, i)
	if err != nil {
		return f, err
	}
	limit, err := h.entry(t.m, i+1)
	if err != nil {
		return f, err
	}
	at, err := h.record(t.m, i)
	if err != nil {
		return f, err
	}
	f.entry, f.limit = t.base+addr.File(entry), t.base+addr.File(limit)

	// The entry, an address before 1.18; 8 or 9 numbers of 4 bytes; 4 bytes.
	first := h.entryBytes()
	var own uint64
	if h.version >= Version118 {
		own, err = t.m.uint(at, 4)
	} else {
		var a addr.File
		a, err = t.m.pointer(at)
		own = uint64(a)
	}
	if err != nil {
		return f, err
	}
	if own != entry || limit < entry {
		return f, fmt.Errorf("%w: function %d starts at %#x and at %#x", ErrFormat, i, entry, own)
	}
	size := uint64(36)
	if h.version >= Version120 {
		size += 4
	}
	var b [40]byte
	if err := t.m.read(at+addr.File(first), b[:size]); err != nil {
		return f, err
	}
	f.name = le.Uint32(b[:])
	f.stack, f.file, f.line = le.Uint32(b[12:]), le.Uint32(b[16:]), le.Uint32(b[20:])
	pcdata := uint64(le.Uint32(b[24:]))
	f.unit = le.Uint32(b[28:])
	if h.version >= Version120 {
		f.startLine = int32(le.Uint32(b[32:]))
	}
	f.flags = b[size-3]
	if pcdata > pcdataInlineIndex && pcdata <= maxPCData {
		err = t.readInline(&f, at+addr.File(first+size), pcdata, uint64(b[size-1]))
	}
	return f, err
}

// readInline sets where the inlined calls of a function are; arrays is the
// address of the offsets of its tables, which those of its data follow.
func (t *Table) readInline(f *record, arrays addr.File, pcdata, funcdata uint64) (err error) {
	if f.inline, err = t.m.uint32(arrays + pcdataInlineIndex*4); err != nil || f.inline == 0 {
		return err
	}
	if funcdata <= funcdataInlineTree {
		return nil
	}
	data := arrays + addr.File(pcdata*4)
	if t.h.version < Version118 { // pointers, aligned
		size := addr.File(t.h.ptrSize)
		f.calls, err = t.m.pointer((data+size-1)&^(size-1) + funcdataInlineTree*size)
		return err
	}
	off, err := t.m.uint32(data + funcdataInlineTree*4)
	if err == nil && off != ^uint32(0) && t.data != 0 {
		f.calls = t.data + addr.File(off)
	}
	return err
}

// inlinedCall is an entry of the tree of inlined calls (runtime.inlinedCall).
type inlinedCall struct {
	name      uint32 // offset in names
	parent    uint32 // an instruction of the caller, from the start of the function
	startLine int32  // 0 before Go 1.20
}

// readCall reads entry i of a function's inlined calls.
func (t *Table) readCall(calls addr.File, i uint64) (inlinedCall, error) {
	var b [20]byte
	if t.h.version >= Version120 {
		err := t.m.read(calls+addr.File(i*16), b[:16])
		return inlinedCall{name: le.Uint32(b[4:]), parent: le.Uint32(b[8:]), startLine: int32(le.Uint32(b[12:]))}, err
	}
	// parent and kind 4 bytes, file, line, name, parent's instruction
	err := t.m.read(calls+addr.File(i*20), b[:])
	return inlinedCall{name: le.Uint32(b[12:]), parent: le.Uint32(b[16:])}, err
}
