package profiles

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/internal/atomicfile"
)

// Standard is the path of standard input and output.
const Standard = "-"

// Streams are what a command reads, writes and says.
type Streams struct {
	In  io.Reader
	Out io.Writer
	// OutTerminal: standard output is a terminal, unfit for binary data.
	OutTerminal bool
	Messages    *terminal.Messages
}

// Read reads a profile and says on the way what had to be left out of it.
func (s *Streams) Read(path string, opts formats.ReadOptions) (*formats.Profile, error) {
	in := s.In
	if path != Standard {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		defer func() { _ = f.Close() }()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, fmt.Errorf("%s: is a folder, not a profile", path)
		}
		in = f
	}
	p, err := formats.Read(in, opts)
	if err != nil {
		if isCut(err) {
			return nil, fmt.Errorf("%s is cut off or damaged (%w)", name(path, "standard input"), cause(err))
		}
		return nil, fmt.Errorf("%s: %w", name(path, "standard input"), cause(err))
	}
	for _, note := range p.Notes {
		s.Messages.Printf("flametel: note: %s: %s", terminal.Escape(name(path, "standard input")), terminal.Escape(note))
	}
	return p, nil
}

// isCut tells that a file ends too early, or that its text breaks the rules of what
// it is written in.
func isCut(err error) bool {
	var inXML *xml.SyntaxError
	var inJSON *json.SyntaxError
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &inXML) || errors.As(err, &inJSON)
}

func name(path, standard string) string {
	if path == Standard {
		return standard
	}
	return path
}

// Label is what readers of a comparison call a profile.
func Label(path string) string { return name(filepath.Base(path), "standard input") }

// cause strips operation and path from an error; our own text names them.
func cause(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// OutputFormat is the format of a file to be written: the one that is named, else
// that of its extension, else for standard output folded text. Only names which
// of all formats are possible.
func OutputFormat(path, format string, only ...string) (*formats.Format, error) {
	switch {
	case path == "":
		return nil, errors.New("--output must not be empty; - is standard output")
	case strings.HasSuffix(path, "/"), strings.ContainsRune(path, 0):
		return nil, fmt.Errorf("--output %q is not the name of a file", path)
	}
	if len(only) == 0 {
		only = formats.WrittenNames()
	}
	possible := func(f *formats.Format) bool {
		for _, n := range only {
			if f != nil && f.Name == n {
				return true
			}
		}
		return false
	}
	if format != "" {
		if f := formats.ByName(format); possible(f) {
			return f, nil
		}
		return nil, fmt.Errorf("--format %q is not one of %s", format, strings.Join(only, ", "))
	}
	if path == Standard {
		return formats.ByName("folded"), nil
	}
	f, _ := formats.ByExtension(path)
	if !possible(f) {
		if isFolder(path) {
			return nil, fmt.Errorf("--output %q is a folder; give the name of a file", path)
		}
		var known []string
		for _, n := range only {
			known = append(known, formats.ByName(n).Extensions...)
		}
		return nil, fmt.Errorf("--output %q: give --format, as the extension is not one of %s", path, strings.Join(known, " "))
	}
	return f, nil
}

// Write makes a file, whole or not at all, or fills standard output.
func (s *Streams) Write(path string, f *formats.Format, write func(io.Writer) error) error {
	if path != Standard {
		if dir := filepath.Dir(path); !isFolder(dir) && !atomicfile.IsDevice(path) {
			return fmt.Errorf("folder %s does not exist; make it or choose another --output", dir)
		}
		return atomicfile.Write(path, write)
	}
	if f.Binary && s.OutTerminal {
		return fmt.Errorf("%s is binary and standard output is a terminal; send it to a file", f.Name)
	}
	if err := atomicfile.Fill(s.Out, write); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil // nobody reads it any more: head has seen enough
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Written describes a file that was written: its name and size.
func Written(path string) string {
	st, err := os.Stat(path)
	switch {
	case path == Standard:
		return "standard output"
	case err != nil || !st.Mode().IsRegular():
		return terminal.Escape(path)
	}
	return fmt.Sprintf("%s (%s)", terminal.Escape(path), figures.Bytes(st.Size()))
}
