package symbolize

import (
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/dwarfline"
	"github.com/flametel/flametel/symbolize/gosym"
)

// languageRust is DW_LANG_Rust (DWARF 5, table 7.17), and languageRustOld what
// rustc wrote before 2016.
const (
	languageRust    = 0x001c
	languageRustOld = 0x9000
)

// nameByTables gives a frame the lines that tables know, and returns the bytes
// that they took. With symbol, if it is not empty, the real function keeps the
// name of its symbol, so that it is the same whether or not there is debug
// information, and twins such as "f.cold" stay apart.
func (s *Symbolizer) nameByTables(o *Object, f *Frame, a *answer, symbol string) (bytes int64) {
	if len(a.golang) > 0 {
		f.Kind = KindGo
		f.Lines = goLines(a.golang, s.opts.NoInlines)
	} else {
		f.Kind = kindOf(a.dwarf, symbol)
		f.Lines, bytes = s.dwarfLines(o, a.dwarf, symbol)
	}
	if len(f.Lines) == 0 {
		return bytes
	}
	f.Reason = ReasonNone
	bytes += int64(len(f.Lines)) * lineBytes
	for i := range f.Lines {
		l := &f.Lines[i]
		bytes += o.intern(&l.Name) + o.intern(&l.SystemName) + o.intern(&l.File)
	}
	return bytes
}

// intern lets equal texts of an object share memory and returns the bytes that
// a new one takes.
func (o *Object) intern(text *string) int64 {
	if *text == "" {
		return 0
	}
	if old, ok := o.texts[*text]; ok {
		*text = old
		return 0
	}
	if o.texts == nil {
		o.texts = make(map[string]string)
	}
	o.texts[*text] = *text
	return int64(len(*text)) + textBytes
}

func goLines(from []gosym.Line, outermost bool) []Line {
	if outermost {
		from = from[len(from)-1:]
	}
	lines := make([]Line, 0, len(from))
	for _, l := range from {
		lines = append(lines, Line{
			Name: demangle.Cut(l.Name), SystemName: demangle.Cut(l.RawName),
			File: l.File, Line: l.Line, StartLine: l.StartLine,
		})
	}
	return lines
}

// dwarfLines leaves out functions without a name, which code in assembly
// language may be.
func (s *Symbolizer) dwarfLines(o *Object, from []dwarfline.Line, symbol string) (lines []Line, bytes int64) {
	lines = make([]Line, 0, len(from))
	for i, l := range from {
		linker, source := l.LinkageName, false
		switch {
		case i == len(from)-1 && symbol != "":
			linker = symbol
		case linker == "" && l.Name != "":
			// No symbol has such a name: it is known by what the source calls it.
			linker, source = "\x00"+l.Scope+"\x00"+l.Name, true
		}
		if linker == "" {
			continue
		}
		line, ok := o.demangled[linker]
		if !ok {
			// Kept, because the same functions are inlined in many places and
			// taking a name apart is dearer than finding it.
			if source {
				line = Line{Name: demangle.Qualified(l.Scope, l.Name, s.opts.Demangle)}
			} else {
				line = s.line(linker)
			}
			if o.demangled == nil {
				o.demangled = make(map[string]Line)
			}
			o.demangled[linker] = line
			bytes += int64(len(linker)) + lineBytes + textBytes
		}
		line.File, line.Line, line.StartLine = l.File, l.Line, l.StartLine
		lines = append(lines, line)
	}
	return lines, bytes
}

// kindOf returns the kind of the code of a real function.
func kindOf(lines []dwarfline.Line, symbol string) Kind {
	if demangle.Rust(symbol) {
		return KindRust
	}
	if n := len(lines); n > 0 && (lines[n-1].Language == languageRust || lines[n-1].Language == languageRustOld) {
		return KindRust
	}
	return KindNative
}
