package symbols

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/target"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
)

// Options say what is shown.
type Options struct {
	// File is an ELF file whose file addresses are named, or PID a process with
	// virtual ones: one of both.
	File string
	PID  int
	// Addresses are looked up as they are; a return address is asked for as the
	// address minus one. Without addresses files alone are described.
	Addresses []addr.Virtual
	// Demangle says how names are shown, NoInlines to leave inlined calls out.
	Demangle  demangle.Style
	NoInlines bool
	DebugDirs []string // nil means the default
}

// Run writes what is known. An address without a name is no error.
func Run(w io.Writer, o *Options) error {
	s := symbolize.New(symbolize.Options{Demangle: o.Demangle, NoInlines: o.NoInlines, DebugDirs: o.DebugDirs})
	defer s.Close()
	open := func() (*symbolize.Process, error) { return s.OpenFile(o.File) }
	if o.PID != 0 {
		if err := target.Check(o.PID); err != nil {
			return err
		}
		open = func() (*symbolize.Process, error) { return s.OpenProcess(o.PID) }
	}
	p, err := open()
	if err != nil {
		return err
	}
	if len(p.Mappings) == 0 {
		return fmt.Errorf("process %d has no code of its own: it is a kernel thread or has ended", o.PID)
	}
	out := &printer{w: w, inlines: !o.NoInlines}
	if len(o.Addresses) == 0 {
		out.mappings(s, p, o.PID != 0)
		return out.err
	}
	for i, at := range o.Addresses {
		if i > 0 {
			out.printf("\n")
		}
		out.address(s, p, at)
	}
	return out.err
}

// ParseAddress reads an address in hexadecimal, with or without 0x.
func ParseAddress(text string) (addr.Virtual, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X")
	v, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("address %q: is above 64 bits", text)
	case err != nil:
		return 0, fmt.Errorf("address %q: must be a hexadecimal number", text)
	}
	return addr.Virtual(v), nil
}

// printer writes until there is an error.
type printer struct {
	w       io.Writer
	inlines bool // debug information is looked for
	err     error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// field prints a name and a value that others may have chosen.
func (p *printer) field(name, value string) {
	if value != "" {
		p.printf("  %-14s %s\n", name, terminal.Escape(value))
	}
}

// mappings describes each file once, and where it is mapped.
func (p *printer) mappings(s *symbolize.Symbolizer, proc *symbolize.Process, ranges bool) {
	seen := map[*symbolize.Object]bool{}
	generated := false
	for i := range proc.Mappings {
		m := &proc.Mappings[i]
		if seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		if len(seen) > 1 {
			p.printf("\n")
		}
		p.printf("%s\n", terminal.Escape(m.Object.Path()))
		d := s.Describe(m.Object)
		if text := verdict(&d, p.inlines); text != "" {
			p.printf("  %s\n", text)
		}
		for j := range proc.Mappings[i:] {
			if other := &proc.Mappings[i+j]; ranges && other.Object == m.Object {
				p.printf("  %-14s %#x-%#x, offset %#x\n", "mapped at", uint64(other.Start), uint64(other.Limit), uint64(other.Offset))
			}
		}
		p.description(&d)
		generated = generated || d.Reason == symbolize.ReasonNoMap
	}
	if generated {
		p.printf("\ngenerated code\n")
		p.attempts(s.DescribeGenerated(proc))
	}
}

func (p *printer) description(d *symbolize.Description) {
	p.field("build ID", d.GNUBuildID)
	p.field("Go build ID", d.GoBuildID)
	for _, s := range d.Segments {
		if s.Executable {
			p.printf("  %-14s %#x-%#x, offset %#x\n", "code", uint64(s.Start), uint64(s.Limit), uint64(s.Offset))
		}
	}
	p.attempts(d.Attempts)
	if d.Reason != symbolize.ReasonNone && d.Reason != symbolize.ReasonNoMap {
		p.field("no names", d.Reason.String())
	}
}

// foundBy are the sources of separate debug files, by what they were found.
var foundBy = map[string]string{"build_id": "build ID", "debug_link": "debug link"}

// attempts prints each place on a line, with all that was wrong there.
func (p *printer) attempts(all []symbolize.Attempt) {
	for _, a := range all {
		text := a.Result
		if a.Err != nil {
			text = strings.ReplaceAll(a.Err.Error(), "\n", "; ")
		}
		label := strings.ReplaceAll(a.Source, "_", " ")
		if by := foundBy[a.Source]; by != "" {
			label, text = "debug file", text+" (by "+by+")"
		}
		p.field(label, text)
	}
}

// address prints the frame of an address, and why it has no name.
func (p *printer) address(s *symbolize.Symbolizer, proc *symbolize.Process, at addr.Virtual) {
	f := s.User(proc, []addr.Virtual{at}, nil)[0]
	p.printf("%#x  %s", uint64(at), terminal.Escape(f.Module.Path))
	if f.Module.Limit > f.Module.Start {
		p.printf("  file offset %#x, file address %#x", uint64(f.Address)-uint64(f.Module.Start)+uint64(f.Module.Offset), uint64(f.Address))
	}
	if f.Kind != symbolize.KindUnknown {
		p.printf("  %s", f.Kind)
	}
	if f.Tier != "" {
		p.printf("  tier %s", terminal.Escape(f.Tier))
	}
	p.printf("\n")
	for i := range f.Lines {
		p.line(&f.Lines[i], i < len(f.Lines)-1)
	}
	if len(f.Lines) > 0 {
		return
	}
	p.field("no name", f.Reason.String())
	if f.FunctionLimit > f.FunctionStart {
		p.printf("  %-14s %#x-%#x\n", "function", uint64(f.FunctionStart), uint64(f.FunctionLimit))
	}
	for i := range proc.Mappings {
		if m := &proc.Mappings[i]; at >= m.Start && at < m.Limit {
			d := s.Describe(m.Object)
			p.description(&d)
			if d.Reason == symbolize.ReasonNoMap {
				p.attempts(s.DescribeGenerated(proc))
			}
		}
	}
}

func (p *printer) line(l *symbolize.Line, inlined bool) {
	p.printf("  %s", terminal.Escape(l.Name))
	if l.File != "" {
		p.printf("  %s:%d", terminal.Escape(l.File), l.Line)
	}
	if inlined {
		p.printf("  (inlined)")
	}
	if l.SystemName != "" {
		p.printf("  [%s]", terminal.Escape(l.SystemName))
	}
	p.printf("\n")
}
