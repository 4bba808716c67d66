// Package unwind shows how far the stacks of a file or a process can be walked
// by its unwind information.
package unwind

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flametel/flametel/bpf/unwind"
	"github.com/flametel/flametel/cmd/flametel/internal/target"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Options say what is shown.
type Options struct {
	// File is an ELF file, or PID a process whose files are shown: one of both.
	File string
	PID  int
	// Rows prints every row, not only how many there are.
	Rows bool
}

// Run writes what the row compiler makes of a file, or of each file that a
// process runs code of. A file of a process that cannot be compiled is shown
// with the reason; it is no error.
func Run(w io.Writer, o *Options) error {
	if o.PID == 0 {
		fmt.Fprintln(w, terminal.Escape(o.File))
		return describe(w, o.File, o.Rows)
	}
	if err := target.Check(o.PID); err != nil {
		return err
	}
	mappings, err := procmap.Read("/proc", o.PID)
	if err != nil {
		return fmt.Errorf("process %d: %w", o.PID, err)
	}
	if len(mappings) == 0 {
		return fmt.Errorf("process %d has no code of its own: it is a kernel thread or has ended", o.PID)
	}
	seen := make(map[string]bool)
	for i := range mappings {
		m := &mappings[i]
		if !m.File() || seen[m.Path] {
			continue
		}
		seen[m.Path] = true
		fmt.Fprintf(w, "%s\n", terminal.Escape(m.Path))
		// The kernel's own link leads to the file that is mapped, whatever its
		// name leads to by now.
		link := filepath.Join("/proc", strconv.Itoa(o.PID), "map_files", fmt.Sprintf("%x-%x", uint64(m.Start), uint64(m.Limit)))
		if err := describe(w, link, o.Rows); err != nil {
			fmt.Fprintf(w, "no rows: %v\n", err)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func describe(w io.Writer, name string, rows bool) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	f, err := elffile.New(file, st.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	table, err := unwind.Compile(f, file, unwind.Options{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintln(w, verdict(f, table))
	return table.Describe(w, rows)
}
