package gosym

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// exercise asks a table about some addresses; whatever it says, it says it in
// bounds.
func exercise(t *testing.T, table *Table, step addr.File) {
	t.Helper()
	start, limit := table.Text()
	var lines []Line
	var frames []Frame
	asked := 0
	for pc := start - 1; pc <= limit && asked < 64; pc += step {
		asked++
		lines, _ = table.Lookup(pc, lines[:0])
		if len(lines) > maxInlined+1 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, l := range lines {
			if len(l.Name) > maxName || len(l.File) > maxName || l.Line < 0 || l.StartLine < 0 || l.File == "" != (l.Line == 0) {
				t.Fatalf("%#x: %+v", pc, l)
			}
		}
		if _, ok, err := table.FrameSize(pc); ok && err != nil {
			t.Fatalf("%#x: a value and an error", pc)
		}
		f, ok, err := table.Func(pc)
		if ok && (err != nil || pc < f.Start || pc >= f.Limit) {
			t.Fatalf("%#x: %+v, %v", pc, f, err)
		}
		frames, _ = table.Frames(pc, frames[:0])
		for i, r := range frames {
			if r.Start >= r.Limit || i > 0 && r.Start < frames[i-1].Limit {
				t.Fatalf("%#x: %+v", pc, frames)
			}
		}
	}
	if table.Bytes() > table.MaxBytes() {
		t.Fatalf("%d bytes are held", table.Bytes())
	}
}

// FuzzOpen opens damaged files that were made by hand.
func FuzzOpen(f *testing.F) {
	for _, v := range []Version{Version116, Version118, Version120} {
		i := sampleImage(v)
		i.buildInfo = "go1.2"
		f.Add(i.build())
		i.relocated = true
		f.Add(i.build())
		i.relocated, i.noModule = false, true
		f.Add(i.build())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := openBytes(b)
		if err != nil {
			return
		}
		start, limit := table.Text()
		exercise(t, table, max((limit-start)/48, 1))
	})
}

// FuzzImage opens images of arbitrary tables in sound files, and patches the
// bytes of one: each three bytes of input are a place and a value.
func FuzzImage(f *testing.F) {
	f.Add(byte(0), []byte{0x40, 0, 0xf1})
	f.Add(byte(1), []byte{0x48, 0, 0xff, 0x50, 1, 0xff})
	f.Add(byte(5), []byte{0x90, 1, 3, 0, 12, 7})
	var bases [6][]byte
	for n, v := range []Version{Version116, Version118, Version120} {
		i := sampleImage(v)
		bases[2*n] = i.build()
		i.relocated = true
		bases[2*n+1] = i.build()
	}
	f.Fuzz(func(t *testing.T, base byte, patch []byte) {
		b := bytes.Clone(bases[base%6])
		for ; len(patch) >= 3; patch = patch[3:] {
			at := int(binary.LittleEndian.Uint16(patch))
			// Everything but the code: the table and the data.
			b[imageConstOffset+at%(imageConstSize+imageDataSize)] = patch[2]
		}
		if table, err := openBytes(b); err == nil {
			exercise(t, table, 3)
		}
	})
}

// patched is a file with some bytes changed.
type patched struct {
	r     io.ReaderAt
	bytes map[int64]byte
}

func (p patched) ReadAt(b []byte, off int64) (int, error) {
	n, err := p.r.ReadAt(b, off)
	for at, v := range p.bytes {
		if at >= off && at < off+int64(n) {
			b[at-off] = v
		}
	}
	return n, err
}

// FuzzProgram patches a real program where it tells about its functions: each
// four bytes of input are a part, a place in it and a value.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{0, 10, 0, 1})
	f.Add([]byte{1, 8, 0, 0xff, 2, 4, 0, 0x80})
	f.Add([]byte{3, 100, 3, 0x80, 4, 7, 0, 0xff})
	f.Add([]byte{5, 8, 0, 0, 6, 1, 1, 1})
	file, err := os.Open(goTool(f, "gofmt"))
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		f.Fatal(err)
	}
	sound := openTable(f, file.Name())
	record, err := sound.readRecord(sound.h.funcs / 2)
	if err != nil {
		f.Fatal(err)
	}
	at, err := sound.h.record(sound.m, sound.h.funcs/2)
	if err != nil {
		f.Fatal(err)
	}
	var parts []int64
	for _, a := range []addr.File{
		sound.h.at, sound.h.functab, at, sound.h.tables + addr.File(record.line), sound.h.units, sound.data,
	} {
		s, _ := sound.m.segment(a)
		parts = append(parts, int64(s.Offset)+int64(a-s.Start))
	}
	for _, s := range sound.m.segments {
		parts = append(parts, int64(s.Offset))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		p := patched{file, map[int64]byte{}}
		for ; len(patch) >= 4 && len(p.bytes) < 64; patch = patch[4:] {
			p.bytes[parts[int(patch[0])%len(parts)]+int64(binary.LittleEndian.Uint16(patch[1:]))] = patch[3]
		}
		e, err := elffile.New(p, st.Size())
		if err != nil {
			return
		}
		table, err := Open(e, p)
		if err != nil {
			return
		}
		exercise(t, table, (record.limit-record.entry)/16+1)
		var lines []Line
		for pc := record.entry; pc < record.limit; pc += 8 {
			lines, _ = table.Lookup(pc, lines[:0])
		}
	})
}
