package symbolize

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/jitdump"
	"github.com/flametel/flametel/symbolize/jitdump/jitname"
	"github.com/flametel/flametel/symbolize/perfmap"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Description is what the Symbolizer knows of a file, for people who wonder
// about names.
type Description struct {
	Path       string
	GNUBuildID string // lower-case hexadecimal
	GoBuildID  string
	Segments   []elffile.Segment
	// Names says what of the code has names.
	Names Names
	// Attempts are the places where symbols were looked for, in this order.
	Attempts []Attempt
	// Reason is why nothing in the file has a name, ReasonNone if something has.
	Reason Reason
}

// Names is what of the code of a file has names.
type Names struct {
	Named       int  // ranges that a symbol names
	Functions   int  // that unwind information tells apart; 0 if that is not there
	GoFunctions int  // that the line table of Go names
	Full        bool // there is a symbol table in full, not only the dynamic one
	Debug       bool // there is debug information
}

func namesOf(m *image) Names {
	n := Names{Named: m.symbols.Len(), Full: m.symtab, Debug: m.debug}
	if t := m.tables; t != nil {
		if t.golang != nil {
			n.GoFunctions = t.golang.Len()
		}
		if m.functions {
			n.Functions = t.functions.Len()
		}
	}
	return n
}

// Describe reads the file of an object once more and tells what was found. It
// is for tools: it waits as long as it takes.
func (s *Symbolizer) Describe(o *Object) Description {
	d := Description{Path: o.key.path, GNUBuildID: fmt.Sprintf("%x", o.key.buildID)}
	var t trace
	switch o.kind {
	case objectLost:
		t.failed("file", o.lost)
		d.Reason = ReasonUnreadable
	case objectAnonymous:
		d.Reason = ReasonNoMap
	case objectVsyscall:
		t.found("symbols", "one name for the whole page")
	default:
		img := s.load(o, &t)
		d.GNUBuildID, d.GoBuildID = fmt.Sprintf("%x", img.buildID), img.goBuildID
		d.Segments, d.Reason = img.segments, img.reason
		if d.Reason == ReasonNone {
			d.Names = namesOf(img)
		}
	}
	d.Attempts = t.attempts
	return d
}

// DescribeGenerated tells where names of a process's generated code are looked
// for.
func (s *Symbolizer) DescribeGenerated(p *Process) []Attempt {
	var t trace
	runtime, _ := runtimeOf(p)
	t.found("runtime", string(runtime))
	var r perfmap.Reader
	g := generated{s: s, process: p, reader: &r}
	_, _, err := g.readMap()
	g.place.Close()
	switch {
	case errors.Is(err, perfmap.ErrNone) && Advice(p) != "" && dumpOf(p) == nil:
		t.failed("perf_map", fmt.Errorf("%w: %s", err, Advice(p)))
	case err != nil:
		t.failed("perf_map", err)
	default:
		t.found("perf_map", fmt.Sprintf("%d named ranges, %d lines make no sense", r.Len(), r.Malformed()))
	}
	if o := dumpOf(p); o != nil {
		var dump jitdump.Reader
		if _, err := s.readDump(o, &dump); err != nil {
			t.failed("jitdump", err)
		} else {
			t.found("jitdump", fmt.Sprintf("%s: %d functions", o.Path(), dump.Len()))
		}
	}
	return t.attempts
}

// Advice says how to start the program of a process so that its generated code
// gets names, "" if its runtime is not known. Ask for it when a frame has
// ReasonNoMap.
func Advice(p *Process) string {
	runtime, file := runtimeOf(p)
	if text := embedderAdvice[path.Base(file)]; text != "" {
		return text
	}
	return advice[runtime]
}

// advice is what makes a runtime tell the names of its code.
var advice = map[jitname.Runtime]string{
	jitname.V8:      "start it with --perf-basic-prof --interpreted-frames-native-stack",
	jitname.JVM:     "start it with -XX:+PreserveFramePointer, and run jcmd PID Compiler.perfmap (17 and later) while it is profiled or load a perf-map agent",
	jitname.Dotnet:  "start it with DOTNET_PerfMapEnabled=1 in its environment",
	jitname.CPython: "start it with -X perf (3.12 and later)",
}

// embedderAdvice is for programs that take the flags of V8 in another way than
// node and d8, by the name of the file. Browsers keep the processes that run
// JavaScript in a sandbox without a file system, which can write no perf map.
var embedderAdvice = map[string]string{
	"chrome": browserAdvice, "chromium": browserAdvice, "electron": browserAdvice,
	"deno": "start it with --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack",
}

const browserAdvice = "start it with --js-flags=--perf-basic-prof and, for a test, --no-sandbox"

// OpenProcess returns a running process with all its executable mappings. It is
// for tools; profilers follow the events of the kernel.
func (s *Symbolizer) OpenProcess(pid int) (*Process, error) {
	ms, err := procmap.Read(s.opts.ProcRoot, pid)
	if err != nil {
		return nil, err
	}
	mapped := make([]Mapped, 0, len(ms))
	for _, m := range ms {
		mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(pid, m)})
	}
	return NewProcess(pid, 0).With(mapped), nil
}

// OpenFile returns a process that does not exist, in whose memory the code of a
// file lies at its file addresses.
func (s *Symbolizer) OpenFile(name string) (*Process, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	// Looked at first: opening a FIFO would wait for somebody to write.
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: it is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	id, err := identify(f)
	if err != nil {
		return nil, err
	}
	e, err := elffile.New(f, id.size)
	switch {
	case errors.Is(err, elffile.ErrMagic):
		return nil, fmt.Errorf("%s: %w", name, errNoELF)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case e.Type == elf.ET_CORE:
		return nil, fmt.Errorf("%s: %w", name, errCore)
	case e.Type == elf.ET_REL:
		return nil, fmt.Errorf("%s: %w", name, errUnlinked)
	}
	var mapped []Mapped
	for _, seg := range e.Segments() {
		if !seg.Executable {
			continue
		}
		m := procmap.Mapping{
			Start: addr.Virtual(seg.Start), Limit: addr.Virtual(seg.Limit), Offset: seg.Offset,
			Dev: id.dev, Inode: id.inode, Path: name, Executable: true,
		}
		mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(os.Getpid(), m)})
	}
	if len(mapped) == 0 {
		return nil, fmt.Errorf("%s: %w", name, errNoCode)
	}
	return NewProcess(os.Getpid(), 0).With(mapped), nil
}

// What is no program, and what to give instead.
var (
	errNoELF    = errors.New("it is not an ELF file: give a program, a library or a debug file")
	errCore     = errors.New("it is a core file, the memory of a program that ended: give the program itself")
	errUnlinked = errors.New("it is not linked, so that its code has no addresses: give the program or library made of it")
	errNoCode   = errors.New("no segment of it is executable")
)
