package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/flametel/flametel/cmd/flametel/internal/convert"
	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/profiles"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/exporter/callgraph"
)

// report prints what changed: to standard output, or beside it if that is taken
// by the comparison itself.
func (o *Options) report(s *profiles.Streams, c *callgraph.Comparison, res *Result) error {
	if o.JSON {
		return o.printJSON(s.Out, c, res)
	}
	if o.Quiet {
		return nil
	}
	text := o.table(c)
	if o.Output == profiles.Standard {
		s.Messages.Printf("%s", text)
		return nil
	}
	if _, err := io.WriteString(s.Out, text); err != nil {
		return err
	}
	if o.Output != "" {
		s.Messages.Printf("wrote %s", profiles.Written(o.Output))
	}
	return nil
}

// Widths of the table, which fits a terminal of 100 columns.
const (
	maxLabel    = 30
	maxFunction = 44
)

// table is both totals and the functions that changed beyond noise.
func (o *Options) table(c *callgraph.Comparison) string {
	text := totals(c)
	movers, noise := significant(c)
	switch {
	case c.Sides[0].Total == 0 && c.Sides[1].Total == 0:
		return text + "Neither has a sample.\n"
	case len(movers) == 0:
		return text + fmt.Sprintf("No function changed beyond noise (|z| < 1.96); %d did within it.\n", noise)
	}
	text += measure(c) + "\n  self: before   after  change   total: before   after  change  function\n"
	for _, m := range movers[:min(len(movers), o.Top)] {
		text += fmt.Sprintf("       %s %s %s          %s %s %s  %s\n",
			percent(m.Self.BeforeShare), percent(m.Self.AfterShare), points(m.Self.Delta()),
			percent(m.Total.BeforeShare), percent(m.Total.AfterShare), points(m.Total.Delta()), function(&m))
	}
	text += "\n"
	if more := len(movers) - o.Top; more > 0 {
		text += figures.Counted(int64(more), "more function", "more functions") + " changed; --top shows more. "
	}
	return text + figures.Counted(int64(noise), "function", "functions") + " changed within noise (|z| < 1.96).\n"
}

// totals is a line about each side.
func totals(c *callgraph.Comparison) (text string) {
	labels := [2]string{terminal.Clip(c.Sides[0].Label, maxLabel), terminal.Clip(c.Sides[1].Label, maxLabel)}
	width := max(utf8.RuneCountInString(labels[0]), utf8.RuneCountInString(labels[1]))
	for i, side := range []string{"before", "after"} {
		s := &c.Sides[i]
		text += fmt.Sprintf("%-7s %s%s  %s%s\n", side, labels[i], strings.Repeat(" ", width-utf8.RuneCountInString(labels[i])),
			convert.Amount(typeName(s), s.Total, s.SampleType.Unit), during(s))
	}
	return text
}

// measure says what shares are of.
func measure(c *callgraph.Comparison) string {
	if c.Normalized {
		return "Shares are of each profile's own total; + is more after.\n"
	}
	text := "Shares are of the larger total (--raw); + is more after.\n"
	if b, a := &c.Sides[0], &c.Sides[1]; b.Period != a.Period && b.Period > 0 && a.Period > 0 {
		text = fmt.Sprintf("The sampling periods differ (%d and %d %s), so counts do not mean the same.\n%s",
			b.Period, a.Period, terminal.Clip(a.PeriodType.Unit, maxLabel), text)
	}
	return text
}

func typeName(s *callgraph.Side) string {
	g := callgraph.Graph{SampleType: s.SampleType, PeriodType: s.PeriodType}
	return g.Name()
}

func during(s *callgraph.Side) string {
	if s.Meta.Duration <= 0 {
		return ""
	}
	return fmt.Sprintf(" in %.1f s", s.Meta.Duration.Seconds())
}

// significant returns the functions that changed beyond noise, and how many did
// within it.
func significant(c *callgraph.Comparison) (movers []callgraph.Mover, noise int) {
	movers = c.Movers()
	n := 0
	for n < len(movers) && (movers[n].Self.Significant || movers[n].Total.Significant) {
		n++
	}
	return movers[:n], len(movers) - n
}

func percent(share float64) string { return fmt.Sprintf("%6.2f%%", 100*share) }

func points(delta float64) string { return fmt.Sprintf("%+7.2f", 100*delta) }

// function is the name of a function and what else tells the reader what it is.
func function(m *callgraph.Mover) string {
	text := terminal.Clip(m.Frame.Name, maxFunction)
	var more []string
	if m.Frame.Kind != callgraph.User {
		more = append(more, m.Frame.Kind.String())
	} else if m.Frame.Module != "" {
		more = append(more, terminal.Clip(path.Base(m.Frame.Module), maxLabel))
	}
	switch {
	case m.Total.New():
		more = append(more, "new")
	case m.Total.Gone():
		more = append(more, "gone")
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// The comparison as JSON. Shares are 0 to 1, z is 0 where it cannot be told.
type (
	jsonResult struct {
		Normalized bool        `json:"normalized"`
		Before     jsonSide    `json:"before"`
		After      jsonSide    `json:"after"`
		Functions  []jsonMover `json:"functions"`
		// Noise counts the functions that changed no more than chance explains,
		// which are not listed.
		Noise int `json:"withinNoise"`
		// Failed names the functions beyond --fail-over.
		Failed []string `json:"failed"`
	}
	jsonSide struct {
		Label   string `json:"label"`
		Type    string `json:"type"`
		Unit    string `json:"unit"`
		Total   int64  `json:"total"`
		Samples int64  `json:"samples"`
	}
	jsonMover struct {
		Name   string     `json:"name"`
		Kind   string     `json:"kind"`
		Module string     `json:"module,omitempty"`
		Self   jsonChange `json:"self"`
		Total  jsonChange `json:"total"`
	}
	jsonChange struct {
		Before      int64   `json:"before"`
		After       int64   `json:"after"`
		BeforeShare float64 `json:"beforeShare"`
		AfterShare  float64 `json:"afterShare"`
		Z           float64 `json:"z"`
		Significant bool    `json:"significant"`
	}
)

func (o *Options) printJSON(w io.Writer, c *callgraph.Comparison, res *Result) error {
	movers, noise := significant(c)
	out := jsonResult{
		Normalized: c.Normalized, Before: sideJSON(&c.Sides[0]), After: sideJSON(&c.Sides[1]),
		Functions: []jsonMover{}, Noise: noise, Failed: []string{},
	}
	for _, m := range movers[:min(len(movers), o.Top)] {
		out.Functions = append(out.Functions, jsonMover{m.Frame.Name, m.Frame.Kind.String(), m.Frame.Module, changeJSON(&m.Self), changeJSON(&m.Total)})
	}
	for _, m := range res.Grown {
		out.Failed = append(out.Failed, m.Frame.Name)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func sideJSON(s *callgraph.Side) jsonSide {
	return jsonSide{s.Label, typeName(s), s.SampleType.Unit, s.Total, s.Samples}
}

func changeJSON(c *callgraph.Change) jsonChange {
	return jsonChange{c.Before, c.After, c.BeforeShare, c.AfterShare, c.Z, c.Significant}
}

// maxNamed is how many functions an error names.
const maxNamed = 3

// Failure is the error of a comparison in which functions grew beyond a limit.
func (o *Options) Failure(res *Result) error {
	var list []string
	for i, m := range res.Grown {
		if i == maxNamed {
			list = append(list, fmt.Sprintf("and %d more", len(res.Grown)-i))
			break
		}
		list = append(list, fmt.Sprintf("%s by %.2f points to %.2f%%", terminal.Clip(m.Frame.Name, maxFunction), 100*m.Total.Delta(), 100*m.Total.AfterShare))
	}
	return fmt.Errorf("grew by more than --fail-over %g%%: %s", 100*o.FailOver, strings.Join(list, ", "))
}
