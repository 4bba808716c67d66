// Package diff compares two profiles: as a differential flame graph, as a table
// of what moved, and as a gate for automated checks.
package diff

import (
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/cmd/flametel/internal/convert"
	"github.com/flametel/flametel/cmd/flametel/internal/profiles"
	"github.com/flametel/flametel/cmd/flametel/internal/version"
	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/svg"
)

// Options are the settings of the command.
type Options struct {
	Before, After string
	// Output is empty for the table alone.
	Output, Format string
	// Type is the sample type to be compared.
	Type          string
	Title, Layout string
	MaxMiB        int
	// Raw and ExactNames as in callgraph.CompareOptions.
	Raw, ExactNames bool
	// Top is how many functions the table has at most.
	Top int
	// FailOver is the growth of a function, as a share of all samples, above which
	// the comparison fails; negative: it never does.
	FailOver float64
	// JSON prints the table for programs.
	JSON, Quiet bool
}

// writable are the formats of a comparison.
func writable() []string { return []string{"svg", "folded"} }

// Validate returns all mistakes that can be seen without reading anything.
func (o *Options) Validate() error {
	var errs []error
	if o.Output != "" {
		_, err := profiles.OutputFormat(o.Output, o.Format, writable()...)
		errs = append(errs, err)
	} else if o.Format != "" {
		errs = append(errs, errors.New("--format is for --output, which is not given"))
	}
	if o.Before == profiles.Standard && o.After == profiles.Standard {
		errs = append(errs, errors.New("standard input can be one of both profiles"))
	}
	if o.JSON && o.Output == profiles.Standard {
		errs = append(errs, errors.New("--json and --output - are both for standard output"))
	}
	const most = 10_000
	if o.Top < 1 || o.Top > most {
		errs = append(errs, fmt.Errorf("--top %d is not within 1 to %d", o.Top, most))
	}
	return errors.Join(append(errs, convert.ValidateLayout(o.Layout), convert.ValidateSize(o.MaxMiB))...)
}

// Result is what a comparison came to.
type Result struct {
	// Empty: neither profile has a sample.
	Empty bool
	// Grown are the functions beyond FailOver, the largest growth first.
	Grown []callgraph.Mover
}

// Run compares. Options must be valid.
func Run(s *profiles.Streams, o *Options) (*Result, error) {
	before, err := s.Read(o.Before, formats.ReadOptions{})
	if err != nil {
		return nil, err
	}
	after, err := s.Read(o.After, formats.ReadOptions{})
	if err != nil {
		return nil, err
	}
	b, a, err := formats.Pair(before, after, o.Type)
	if err != nil {
		return nil, err
	}
	c := callgraph.Compare(b, a, callgraph.CompareOptions{
		Labels: [2]string{profiles.Label(o.Before), profiles.Label(o.After)}, Raw: o.Raw, ExactNames: o.ExactNames,
	})
	if err := o.write(s, c); err != nil {
		return nil, err
	}
	res := &Result{Empty: c.Sides[0].Total == 0 && c.Sides[1].Total == 0}
	if o.FailOver >= 0 {
		res.Grown = c.Grown(o.FailOver)
	}
	return res, o.report(s, c, res)
}

// write makes the output, if there is to be one.
func (o *Options) write(s *profiles.Streams, c *callgraph.Comparison) error {
	if o.Output == "" {
		return nil
	}
	format, err := profiles.OutputFormat(o.Output, o.Format, writable()...)
	if err != nil {
		return err
	}
	return s.Write(o.Output, format, func(w io.Writer) error {
		if format.Name == "folded" {
			return folded.WriteComparison(w, c, folded.Options{})
		}
		return svg.WriteComparison(w, c, svg.Options{
			Title: o.Title, Layout: svg.Layout(o.Layout), MaxBytes: convert.SVGSize(o.MaxMiB),
			Facts: []svg.Fact{{Name: "Program", Value: "flametel " + version.Version}},
		})
	})
}
