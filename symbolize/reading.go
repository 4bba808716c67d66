package symbolize

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flametel/flametel/symbolize/debuginfo"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/gosym"
)

// reading is one reading of an object's file, and of those that go with it.
type reading struct {
	s     *Symbolizer
	trace *trace
	// What follows is not set for images in memory.
	path    string      // as the process sees it
	pid     int         // a process that maps it
	info    os.FileInfo // of the program
	program *source
}

// image reads an ELF file of size bytes.
func (r *reading) image(from io.ReaderAt, size int64) *image {
	f, err := elffile.New(from, size)
	if err != nil {
		r.trace.failed("file", err)
		reason := ReasonUnreadable
		if errors.Is(err, elffile.ErrFormat) {
			reason = ReasonMalformed
		}
		return &image{reason: reason, foreign: errors.Is(err, elffile.ErrMagic)}
	}
	ids := f.BuildIDs()
	img := &image{segments: f.Segments(), buildID: string(ids.GNU), goBuildID: ids.Go}
	if len(img.segments) == 0 {
		img.reason = ReasonMalformed
		return img
	}
	var more []*elffile.File
	if r.program != nil {
		var done func()
		more, done = r.others(f, img)
		defer done()
	}
	if img.symbols, err = f.SymbolsOutside(img.goStart, img.goLimit, more...); err != nil {
		r.trace.failed("symbols", err)
		if img.symbols.Len() == 0 && img.goLimit == 0 {
			img.reason = ReasonMalformed
			if errors.Is(err, elffile.ErrTooBig) {
				img.reason = ReasonTooBig
			}
		}
	}
	r.trace.found("symbols", fmt.Sprintf("%d named ranges", img.symbols.Len()))
	img.sigreturns = findSigreturns(f, img, from)
	return img
}

// others opens what else names the code of a program: its Go table, its debug
// information, and files with more symbols, which are in use until done.
func (r *reading) others(f *elffile.File, img *image) (more []*elffile.File, done func()) {
	t := &tables{program: r.program, limits: r.s.debugLimits()}
	done = func() {}
	if r.golang(f, t) {
		img.goStart, img.goLimit = t.golang.Text()
		img.tables = t
	}
	if !r.s.opts.NoInlines && hasDWARF(f) {
		t.debugFile, t.debug = f, r.program
		r.trace.found("dwarf", "in the file itself")
	}
	symtab := hasSymtab(f)
	if t.golang == nil && (!symtab || t.debugFile == nil && !r.s.opts.NoInlines) {
		if found := r.separate(f, img); found != nil {
			done = found.done
			more = append(more, found.file)
			symtab = symtab || hasSymtab(found.file)
			if !r.s.opts.NoInlines && t.debugFile == nil && hasDWARF(found.file) {
				t.debugFile, t.debug = found.file, found.source
				r.trace.found("dwarf", "in the separate debug file")
			}
		}
	}
	if !symtab {
		mini := r.mini(f)
		more, symtab = append(more, mini...), len(mini) > 0
	}
	img.symtab = symtab
	if t.debugFile != nil {
		r.addSupplement(t)
		img.debug, img.tables = true, t
	}
	// A sixteenth of the room, so that one file does not push out others.
	if t.functions = f.Functions(); t.functions != nil && int64(t.functions.Len())*elffile.RangeBytes <= r.s.opts.MaxCacheBytes/16 {
		img.functions, img.tables = true, t
		r.trace.found("unwind", fmt.Sprintf("ranges of %d functions", t.functions.Len()))
	}
	return more, done
}

// golang opens the line table of a Go program.
func (r *reading) golang(f *elffile.File, t *tables) bool {
	table, err := gosym.Open(f, r.program)
	switch {
	case errors.Is(err, gosym.ErrNotGo):
		return false
	case err != nil:
		r.trace.failed("go", err)
		return false
	}
	t.golang = table
	r.trace.found("go", fmt.Sprintf("line table of %s, %d functions", table.GoVersion(), table.Len()))
	return true
}

// mini unpacks the symbols that some distributions leave in stripped programs.
func (r *reading) mini(f *elffile.File) []*elffile.File {
	b, err := debuginfo.Mini(f)
	if err != nil {
		if !errors.Is(err, debuginfo.ErrNone) {
			r.trace.failed("gnu_debugdata", err)
		}
		return nil
	}
	m, err := elffile.New(b, b.Size())
	if err != nil {
		r.trace.failed("gnu_debugdata", err)
		return nil
	}
	r.trace.found("gnu_debugdata", fmt.Sprintf("%d bytes", b.Size()))
	return []*elffile.File{m}
}

func hasSymtab(f *elffile.File) bool {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Type == elf.SHT_SYMTAB && s.Size > 0 {
			return true
		}
	}
	return false
}

func hasDWARF(f *elffile.File) bool {
	for _, name := range []string{".debug_info", ".zdebug_info"} {
		if s, ok := f.Section(name); ok && s.Size > 0 {
			return true
		}
	}
	return false
}
