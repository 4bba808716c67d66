// Package convert turns a profile of any format into one of another.
package convert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/profiles"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/svg"
)

// Options are the settings of the command.
type Options struct {
	Input, Output string
	// From and Format name the formats; empty: found out.
	From, Format string
	// Type is the sample type to be taken; empty: all if there is room for them,
	// else the default one.
	Type          string
	Title, Layout string
	// MaxMiB bounds an SVG; 0 is no limit.
	MaxMiB                        int
	NoAnnotations, Modules, Quiet bool
}

// Validate returns all mistakes that can be seen without reading anything.
func (o *Options) Validate() error {
	_, err := profiles.OutputFormat(o.Output, o.Format)
	return errors.Join(err, o.validateSame(), ValidateInput("--from", o.From), ValidateLayout(o.Layout), ValidateSize(o.MaxMiB))
}

// validateSame refuses to replace what is read: with another --type or format it
// could not be had back.
func (o *Options) validateSame() error {
	in, err1 := os.Stat(o.Input)
	out, err2 := os.Stat(o.Output)
	if err1 == nil && err2 == nil && in.Mode().IsRegular() && os.SameFile(in, out) {
		return fmt.Errorf("--output %q is the file that is read; give another name", o.Output)
	}
	return nil
}

// ValidateInput checks the name of a format to be read.
func ValidateInput(flag, name string) error {
	if name == "" {
		return nil
	}
	known := formats.ReadNames()
	for _, n := range known {
		if n == name {
			return nil
		}
	}
	return fmt.Errorf("%s %q is not one of %s", flag, name, strings.Join(known, ", "))
}

// ValidateLayout checks a layout.
func ValidateLayout(layout string) error {
	if layout != string(svg.Flame) && layout != string(svg.Icicle) {
		return fmt.Errorf("--layout %q is not one of flame, icicle", layout)
	}
	return nil
}

// ValidateSize checks the limit on the size of an SVG, in MiB.
func ValidateSize(mib int) error {
	const most = 1 << 20
	if mib < 0 || mib > most {
		return fmt.Errorf("--max-size %d is not within 0 to %d", mib, most)
	}
	return nil
}

// SVGSize is the limit as the writer of SVG takes it.
func SVGSize(mib int) int64 {
	if mib == 0 {
		return -1
	}
	return int64(mib) << 20
}

// Run converts, and returns how many samples it wrote. Options must be valid.
func Run(s *profiles.Streams, o *Options) (samples int64, err error) {
	format, err := profiles.OutputFormat(o.Output, o.Format)
	if err != nil {
		return 0, err
	}
	p, err := s.Read(o.Input, formats.ReadOptions{Format: o.From, Detail: format.Detail})
	if err != nil {
		return 0, err
	}
	graphs, err := o.choose(s, p, format)
	if err != nil {
		return 0, err
	}
	shown := 0
	if len(graphs) > 1 {
		shown = p.Default
	}
	title := o.Title
	if title == "" {
		title = p.Title
	}
	err = s.Write(o.Output, format, func(w io.Writer) error {
		return format.Write(w, graphs, &formats.WriteOptions{
			Title: title, Default: shown, Layout: svg.Layout(o.Layout), MaxBytes: SVGSize(o.MaxMiB),
			NoAnnotations: o.NoAnnotations, Modules: o.Modules,
			Facts: withOrigin(p.Facts, profiles.Label(o.Input)),
		})
	})
	if err != nil {
		return 0, err
	}
	var what []string
	for _, g := range graphs {
		what = append(what, Amount(g.Name(), g.Total(0), g.SampleType.Unit))
		samples = max(samples, g.Total(0))
	}
	if !o.Quiet {
		s.Messages.Printf("wrote %s: %s; read as %s", profiles.Written(o.Output), strings.Join(what, ", "), p.Format.Name)
	}
	return samples, nil
}

// withOrigin adds what a profile was converted from to its facts, which may have it.
func withOrigin(facts []svg.Fact, input string) []svg.Fact {
	origin := svg.Fact{Name: "Converted from", Value: input}
	if slices.Contains(facts, origin) {
		return facts
	}
	return append(facts, origin)
}

// Amount writes a total with what it is of: cpu 1,234 samples.
func Amount(name string, total int64, unit string) string {
	text := figures.Amount(total, unit)
	if name == "samples" {
		return text
	}
	return terminal.Escape(name) + " " + text
}

// choose returns the graphs to be written, and says which are not.
func (o *Options) choose(s *profiles.Streams, p *formats.Profile, format *formats.Format) ([]*callgraph.Graph, error) {
	if o.Type == "" && format.SeveralTypes {
		return p.Graphs, nil
	}
	g, err := p.Find(o.Type)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profiles.Label(o.Input), err)
	}
	if len(p.Graphs) > 1 && o.Type == "" {
		var others []string
		for _, h := range p.Graphs {
			if h != g {
				others = append(others, terminal.Escape(h.Name()))
			}
		}
		s.Messages.Printf("flametel: note: %s holds one sample type, %s is written; --type chooses another: %s",
			format.Name, terminal.Escape(g.Name()), strings.Join(others, ", "))
	}
	return []*callgraph.Graph{g}, nil
}
