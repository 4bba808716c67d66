package svg

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/exporter/callgraph"
)

// fewSamples is the count below which shares are rough enough to say so.
const fewSamples = 100

// summarize makes the first lines under the title: what the reader has to know to
// trust the picture. A comparison has one for each profile.
func (d *drawing) summarize() []string {
	if d.cmp == nil {
		return []string{summary(d.full, d.opts.Weight, d.unit, true)}
	}
	var out []string
	for w, s := range d.cmp.Sides {
		g := *d.full
		g.SampleType, g.PeriodType, g.Period, g.Meta = s.SampleType, s.PeriodType, s.Period, s.Meta
		out = append(out, display(s.Label)+": "+summary(&g, w, unitOf(s.SampleType), false))
	}
	how := " · widths and changes by share of each total"
	if !d.cmp.Normalized {
		how = " · widths and changes by amount, totals as they are"
	}
	out[1] += how
	return out
}

func summary(g *callgraph.Graph, weight int, u unit, unknown bool) string {
	parts := []string{u.format(g.Total(weight))}
	if d := g.Meta.Duration; d > 0 {
		parts = append(parts, fmt.Sprintf("recorded for %.1f s", d.Seconds()))
	}
	if f := frequency(g); f != "" {
		parts = append(parts, f)
	}
	if a := g.Meta.Accounting; a != nil {
		parts = append(parts, fmt.Sprintf("%s of %s taken lost (%s)", grouped(a.Lost), grouped(a.Taken), percent(a.Lost, a.Taken)))
	}
	if unknown && g.Total(weight) > 0 {
		parts = append(parts, fmt.Sprintf("%.2f%% of all frames unknown", 100*g.UnknownShare(weight)))
	}
	return strings.Join(parts, " · ")
}

// frequency says what was asked for and what was reached, in hertz per CPU.
func frequency(g *callgraph.Graph) string {
	a := g.Meta.Accounting
	switch {
	case a != nil && a.FrequencyAsked > 0 && a.FrequencyAchieved > 0:
		return fmt.Sprintf("%.4g Hz asked, %.1f Hz achieved", a.FrequencyAsked, a.FrequencyAchieved)
	case a != nil && a.FrequencyAsked > 0:
		return fmt.Sprintf("%.4g Hz asked", a.FrequencyAsked)
	case g.Period > 0 && g.PeriodType.Unit == "nanoseconds":
		return fmt.Sprintf("%.4g Hz", 1e9/float64(g.Period))
	}
	return ""
}

// origin is the second line: where and when, and what else was counted.
func origin(g *callgraph.Graph) string {
	var parts []string
	switch hosts := g.Meta.Hosts; len(hosts) {
	case 0:
	case 1:
		parts = append(parts, display(hosts[0]))
	default:
		parts = append(parts, fmt.Sprintf("%d hosts", len(hosts)))
	}
	if !g.Meta.Start.IsZero() {
		parts = append(parts, g.Meta.Start.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if a := g.Meta.Accounting; a != nil {
		parts = append(parts, counted("idle", a.Idle), counted("filtered", a.Filtered), counted("left out", a.LeftOut), counted("never taken", a.Missed), counted("stacks truncated", a.TruncatedStacks))
		for _, l := range a.LostBy {
			parts = append(parts, counted("lost: "+display(l.Cause), l.Count))
		}
	}
	return strings.Join(nonEmpty(parts), " · ")
}

func counted(what string, n int64) string {
	if n == 0 {
		return ""
	}
	return grouped(n) + " " + what
}

func nonEmpty(parts []string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// maxExact is the largest whole number up to which the script, that is
// JavaScript, has all: 2^53.
const maxExact = 1 << 53

// findWarnings returns what the reader must not miss, one sentence each.
func (d *drawing) findWarnings() []string {
	if d.cmp == nil {
		return warnings(d.full, d.opts.Weight, d.unit)
	}
	var out []string
	for w, s := range d.cmp.Sides {
		if s.Total == 0 {
			out = append(out, fmt.Sprintf("There are no samples in %s: everything is %s.", display(s.Label), [2]string{"new", "gone"}[w]))
			continue
		}
		g := *d.full
		g.SampleType, g.Meta = s.SampleType, s.Meta
		for _, text := range warnings(&g, w, unitOf(s.SampleType)) {
			out = append(out, display(s.Label)+": "+text)
		}
	}
	if a, b := d.cmp.Sides[0].SampleType, d.cmp.Sides[1].SampleType; a.Unit != b.Unit {
		out = append(out, fmt.Sprintf("The profiles measure different things: %s and %s.", typeText(a), typeText(b)))
	}
	return out
}

func warnings(g *callgraph.Graph, weight int, u unit) []string {
	var out []string
	total := g.Total(weight)
	if u.Noun != "" && total > 0 && total < fewSamples {
		// Half the width of the 95 % interval of a share of one half.
		margin := 100 * 1.96 * math.Sqrt(0.25/float64(total))
		out = append(out, fmt.Sprintf("Only %s: shares are rough (a frame shown at 50%% may be off by %.0f points).", u.format(total), margin))
	}
	if n := g.Meta.NotKept; n > 0 {
		out = append(out, fmt.Sprintf("%s (%s) without stack: the memory limit was reached.", u.format(n), percent(n, total)))
	}
	if n := g.Meta.Invalid; n > 0 {
		out = append(out, fmt.Sprintf("%s malformed samples were left out.", grouped(n)))
	}
	if g.Meta.Saturated {
		out = append(out, "Counts were cut at the largest 64-bit number.")
	}
	if total > maxExact {
		out = append(out, "Counts exceed 2^53: with scripts on, the page rounds their last digits (≈); shares are right, and the file holds all digits.")
	}
	return out
}

// mergedText says what the limit on the size of the file took.
func (d *drawing) mergedText() []string {
	if d.merged == nil {
		return nil
	}
	return []string{fmt.Sprintf("To keep the file small, %s frames of the smallest subtrees (%s of %s) are merged into frames \"(N small frames)\"; totals and widths are exact.",
		grouped(d.merged.Frames), percent(d.merged.Weight, d.totals[0]), d.unit.format(d.totals[0]))}
}

// reason says why there are no samples.
func reason(g *callgraph.Graph) string {
	a := g.Meta.Accounting
	if a == nil {
		return "The source sent no samples."
	}
	if d := g.Meta.Duration; d > 0 && a.FrequencyAsked > 0 && a.Lost == 0 && d.Seconds()*a.FrequencyAsked < 1 {
		return fmt.Sprintf("The recording of %.2g s was shorter than one sampling period of %.2g s.", d.Seconds(), 1/a.FrequencyAsked)
	}
	taken := fmt.Sprintf("%s samples were taken, ", grouped(a.Taken))
	if a.Taken == 1 {
		taken = "1 sample was taken, "
	}
	switch {
	case a.Taken == 0:
		return "No samples were taken in this time."
	case a.Idle == a.Taken:
		return taken + "all of idle CPUs."
	case a.Lost == 0 && a.Filtered > 0 && a.Idle+a.Filtered == a.Taken:
		if a.Idle > 0 {
			return taken + fmt.Sprintf("none of the processes asked for: %s of others, %s of idle CPUs.", grouped(a.Filtered), grouped(a.Idle))
		}
		return taken + "none of the processes asked for."
	}
	parts := nonEmpty([]string{
		counted("of idle CPUs", a.Idle),
		counted("of processes not asked for", a.Filtered),
		counted("left out, as they have no frame that was asked for", a.LeftOut),
		counted("lost", a.Lost),
	})
	if len(parts) == 0 {
		return taken + "but none arrived."
	}
	text := taken + "none could be kept: " + strings.Join(parts, ", ") + "."
	for _, l := range a.LostBy {
		text += fmt.Sprintf(" Lost by %s: %s.", display(l.Cause), grouped(l.Count))
	}
	return text
}

func (d *drawing) defaultTitle() string {
	name := display(d.full.Name())
	if name == "cpu" {
		name = "CPU"
	}
	if d.cmp != nil {
		return fmt.Sprintf("%s: %s → %s", name, d.cmp.Sides[0].Label, d.cmp.Sides[1].Label)
	}
	return name + " flame graph"
}

// provenance is everything that is known about the origin of a file, line by
// line, for its description.
func (d *drawing) provenance() []string {
	lines := slices.Clone(d.summaries)
	if d.cmp == nil {
		lines = append(lines, details(d.full)...)
	} else {
		for _, s := range d.cmp.Sides {
			g := callgraph.Graph{SampleType: s.SampleType, PeriodType: s.PeriodType, Period: s.Period, Meta: s.Meta}
			for _, l := range details(&g) {
				lines = append(lines, display(s.Label)+": "+l)
			}
		}
	}
	for _, f := range d.opts.Facts {
		lines = append(lines, display(f.Name)+" "+display(f.Value))
	}
	return append(append(lines, d.warnings...), d.mergedText()...)
}

func details(g *callgraph.Graph) []string {
	lines := nonEmpty([]string{origin(g)})
	lines = append(lines, "Sample type "+typeText(g.SampleType))
	if g.Period > 0 {
		lines = append(lines, fmt.Sprintf("Period %d %s", g.Period, typeText(g.PeriodType)))
	}
	if !g.Meta.Start.IsZero() {
		lines = append(lines, "Start "+g.Meta.Start.UTC().Format(time.RFC3339Nano))
	}
	if g.Meta.Duration > 0 {
		lines = append(lines, "Duration "+g.Meta.Duration.String())
	}
	if len(g.Meta.Hosts) > 1 {
		lines = append(lines, "Hosts "+display(strings.Join(g.Meta.Hosts, ", ")))
	}
	if a := g.Meta.Accounting; a != nil {
		lines = append(lines, fmt.Sprintf("Taken %d = kept %d + idle %d + filtered %d + lost %d; CPUs %d",
			a.Taken, a.Kept, a.Idle, a.Filtered, a.Lost, a.CPUs))
	}
	return lines
}

func typeText(v callgraph.ValueType) string {
	return display(v.Type) + "/" + display(v.Unit)
}
