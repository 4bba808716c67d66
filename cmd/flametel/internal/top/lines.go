package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/exporter/callgraph"
)

// style is how a line looks; a screen gives it colours.
type style int

const (
	plain style = iota
	title
	header
	chosen
	faint
	alarm
	// Lines of functions of the kernel and of runtimes; others are plain.
	kernelLine
	jitLine
)

// line is a line of the screen. Its text holds nothing that a terminal would take
// for a command, and is as wide as the screen at most.
type line struct {
	text string
	style
}

// facts are what is shown beside the table.
type facts struct {
	subject   string  // what is profiled
	frequency int     // asked, Hz
	own       float64 // the part of one CPU that we use
}

// Widths of the columns in characters; the last one takes what is left.
const (
	percentWidth = 7
	processWidth = 16
	kindWidth    = 8
	moduleWidth  = 20
	pidWidth     = 8
)

// headLines are above the rows: facts, choice, names of columns.
const headLines = 3

// lines draws the screen.
func (v *view) lines(t *table, f facts, width, height int) []line {
	if v.help {
		return v.helpLines(width, height)
	}
	room := max(height-headLines-1, 1)
	v.selected = max(0, min(v.selected, len(t.rows)-1))
	v.top = max(0, min(v.top, v.selected))
	if v.selected >= v.top+room {
		v.top = v.selected - room + 1
	}
	out := []line{
		{clip(t.facts(f), width), title},
		{clip(v.choiceText(t), width), plain},
		{clip(v.columns(), width), header},
	}
	names := max(width-displaywidth.String(v.beforeName()), minName)
	for i := v.top; i < min(v.top+room, len(t.rows)); i++ {
		l := line{clip(v.rowText(t, &t.rows[i], names), width), rowStyle(&t.rows[i])}
		if i == v.selected {
			l.style = chosen
		}
		out = append(out, l)
	}
	if len(t.rows) == 0 {
		out = append(out, line{clip(v.emptyText(t), width), faint})
	}
	for len(out) < headLines+room {
		out = append(out, line{})
	}
	return append(out[:headLines+room], v.footer(width))
}

// rowStyle is the look of a line: that of its kind, which stands there in words
// as well.
func rowStyle(r *row) style {
	switch {
	case r.name == "":
		return plain // not a function
	case r.kind == callgraph.Kernel:
		return kernelLine
	case r.kind == callgraph.JIT:
		return jitLine
	case r.kind == callgraph.Unknown:
		return faint
	}
	return plain
}

// facts is the first line.
func (t *table) facts(f facts) string {
	parts := []string{"flametel top", f.subject}
	if u := t.host; u.known {
		parts = append(parts,
			fmt.Sprintf("%.2f of %d CPUs busy", u.busy, u.cpus),
			fmt.Sprintf("%d samples in %s, %d lost", t.all, t.covers.Round(100*time.Millisecond), u.lost),
			fmt.Sprintf("%.1f of %d Hz", u.achieved, f.frequency))
	} else {
		parts = append(parts, figures.Counted(t.all, "sample", "samples"), fmt.Sprintf("%d Hz", f.frequency))
	}
	return strings.Join(append(parts, fmt.Sprintf("own CPU %.1f%%", 100*f.own)), "  ")
}

// choiceText says what is shown.
func (v *view) choiceText(t *table) string {
	parts := []string{fmt.Sprintf("%s by %s time", figures.Counted(int64(len(t.rows)), levelOnes[v.level], levelNames[v.level]), v.sort)}
	if v.zoom != nil {
		name := "process " + terminal.Clip(v.zoom.process, processWidth)
		if v.zoom.pid != 0 {
			name += fmt.Sprintf(" (%d)", v.zoom.pid)
		}
		parts = append(parts, fmt.Sprintf("only %s: %d samples are 100%%", name, t.samples))
	}
	if v.input != "" && !v.typing {
		parts = append(parts, "filter /"+terminal.Escape(v.input)+"/")
	}
	if v.paused {
		parts = append(parts, "PAUSED")
	}
	return strings.Join(parts, "  ")
}

func (v *view) columns() string {
	mark := func(name, sort string) string {
		if v.sort == sort {
			return name + "*"
		}
		return name
	}
	text := pad(mark("SELF", bySelf), percentWidth, true) + " " + pad(mark("TOTAL", byTotal), percentWidth, true) + "  "
	switch v.level {
	case processes:
		return text + pad("PID", pidWidth, true) + "  PROCESS"
	case modules:
		return text + pad("PROCESS", processWidth, false) + "  MODULE"
	}
	return text + pad("PROCESS", processWidth, false) + "  " + pad("KIND", kindWidth, false) + "  " + pad("MODULE", moduleWidth, false) + "  FUNCTION"
}

// beforeName is as long as what stands before the name of a function.
func (v *view) beforeName() string { return strings.TrimSuffix(v.columns(), "FUNCTION") }

// rowText is a line of the table; names is the room for that of a function.
func (v *view) rowText(t *table, r *row, names int) string {
	text := pad(percent(r.self, t.samples), percentWidth, true) + " " + pad(percent(r.total, t.samples), percentWidth, true) + "  "
	switch v.level {
	case processes:
		return text + pad(fmt.Sprint(r.pid), pidWidth, true) + "  " + escape(r.process)
	case modules:
		return text + pad(escape(r.process), processWidth, false) + "  " + escape(r.module)
	}
	return text + pad(escape(r.process), processWidth, false) + "  " + pad(r.kind.String(), kindWidth, false) + "  " +
		pad(escape(r.module), moduleWidth, false) + "  " + shorten(escape(r.name), names)
}

func (v *view) emptyText(t *table) string {
	switch {
	case t.all == 0 && t.host.known && t.host.taken > 0:
		return "  no samples: all CPUs are idle, or what you asked for does not run"
	case t.all == 0:
		return "  waiting for the first samples ..."
	case v.filter != nil:
		return "  nothing matches"
	}
	return "  no samples of this process in this time"
}

// footer is the last line: what is typed, what happened, or the keys.
func (v *view) footer(width int) line {
	switch {
	case v.typing && v.inputErr != "":
		return line{clip("/"+terminal.Escape(v.input)+"   "+terminal.Escape(v.inputErr), width), alarm}
	case v.typing:
		return line{clip("/"+terminal.Escape(v.input)+"   (Enter keeps it, Esc drops it)", width), title}
	case v.status != "" && v.statusBad:
		return line{clip(terminal.Escape(v.status), width), alarm}
	case v.status != "":
		return line{clip(terminal.Escape(v.status), width), title}
	}
	var keys []string
	for _, a := range actions() {
		if a.word != "" {
			name, _, _ := strings.Cut(a.shown, ",")
			keys = append(keys, name+" "+a.word)
		}
	}
	return line{clip(strings.Join(keys, "  "), width), faint}
}

func (v *view) helpLines(width, height int) []line {
	out := []line{{clip("Keys", width), title}, {}}
	for _, a := range actions() {
		out = append(out, line{clip("  "+pad(a.shown, 12, false)+a.text, width), plain})
	}
	out = append(out, line{}, line{clip("SELF: samples that ended in it. TOTAL: samples that have it anywhere in their stack.", width), plain})
	for len(out) < height {
		out = append(out, line{})
	}
	return out[:max(height, 1)]
}
