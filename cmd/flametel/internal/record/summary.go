package record

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

const (
	topFunctions = 5
	// maxFunction is the room for the name of a function, in characters: a
	// summary fits a terminal of 80 columns.
	maxFunction = 62
	// maxModules is how many files without names are named, in maxModule
	// characters each.
	maxModules = 5
	maxModule  = 20
	// maxCauses is how many causes of loss are named.
	maxCauses = 2
)

// summarize writes the summary.
func (r *recording) summarize(interrupted os.Signal) {
	if r.Quiet {
		if r.nothing() && r.command == nil && interrupted == nil { // else the exit code is not about samples
			r.Messages.Printf("flametel: no samples: %s", r.reason(r.counted().Accounting))
		}
		return
	}
	for _, line := range r.summary(interrupted) {
		r.Messages.Printf("%s", line)
	}
}

func (r *recording) summary(interrupted os.Signal) []string {
	k := r.counted()
	first := r.first()
	shown := first.shown(r.pipeline.tally)
	var lines []string
	if k.Total == 0 {
		lines = append(lines, "no samples: "+r.reason(k.Accounting))
	} else {
		lines = append(lines, r.totals(k, shown))
	}
	if text := unknownModules(shown); text != "" {
		lines = append(lines, text)
	}
	if a := k.Accounting; a != nil && a.Taken > 0 {
		lines = append(lines, losses(a))
	}
	lines = append(lines, r.others()...)
	top := shown.Top(topFunctions)
	if len(top) > 0 {
		lines[len(lines)-1] += "; top " + first.by() + ":"
	}
	for _, s := range top {
		lines = append(lines, fmt.Sprintf("%7s  %-7s  %s", percent(s.Self, shown.Total), s.Kind, terminal.Clip(s.Name, maxFunction)))
	}
	return append(lines, r.wrote(interrupted)...)
}

// covered is how long samples were taken, as the outputs show it.
func (r *recording) covered(k *tally.Kind) time.Duration {
	if k.Accounting != nil && k.Accounting.Duration() > 0 {
		return k.Accounting.Duration()
	}
	return r.elapsed
}

// totals is the line about what is in the files: how often it happened, and what
// the main picture is made of.
func (r *recording) totals(k, shown *tally.Kind) string {
	text := fmt.Sprintf("%s in %s", figures.Counted(k.Total, r.first().one, r.first().many), seconds(r.covered(k)))
	if n := k.Processes(); n > 0 {
		text += " from " + figures.Counted(int64(n), "process", "processes")
	}
	text += ", " + figures.Counted(int64(k.Stacks()), "stack", "stacks")
	if shown.Frames > 0 {
		text += ", " + percent(shown.UnknownFrames, shown.Frames) + " of frames unknown"
	}
	a := k.Accounting
	if a == nil {
		return text
	}
	if a.UserStacks > 0 {
		text += ", " + percent(a.CompleteStacks, a.UserStacks) + " of user stacks complete"
	}
	if a.Asked > 0 && a.Achieved > 0 {
		text += fmt.Sprintf("; %.1f of %g Hz achieved", a.Achieved, a.Asked)
	}
	return text
}

// unknownModules is the line that says which files most frames without a name
// are of, if there are more than one in a hundred.
func unknownModules(k *tally.Kind) string {
	if k.UnknownFrames*100 <= k.Frames {
		return ""
	}
	var list []string
	for _, m := range k.Unknown(maxModules) {
		list = append(list, terminal.Clip(m.Name, maxModule)+" "+percent(m.Frames, k.Frames))
	}
	if len(list) == 0 {
		return ""
	}
	return "unknown in " + strings.Join(list, ", ")
}

// losses is the line about what is not in the files.
func losses(a *tally.Accounting) string {
	text := fmt.Sprintf("%s of %s lost", figures.Grouped(a.Lost), figures.Counted(a.Taken, "sample", "samples"))
	if a.Lost > 0 {
		text += " (" + percent(a.Lost, a.Taken) + ")" + causes(a.LostBy())
	}
	var others []string
	for _, o := range []struct {
		n    int64
		text string
	}{
		{a.Idle, "idle"}, {a.Filtered, "of other processes"}, {a.LeftOut, "left out as asked"},
		{a.TruncatedStacks, "with cut stacks"}, {a.Missed, "never taken"},
	} {
		if o.n > 0 {
			others = append(others, figures.Grouped(o.n)+" "+o.text)
		}
	}
	if len(others) > 0 {
		text += "; " + strings.Join(others, ", ")
	}
	return text + estimated(a)
}

// estimated says what samples stand for that were chosen by chance.
func estimated(a *tally.Accounting) string {
	if a.StandFor == 0 {
		return ""
	}
	return fmt.Sprintf("; %s kept stand for %s, standard error %.2g%%", figures.Grouped(a.Kept), figures.Grouped(a.StandFor), 100*a.Error())
}

// causes lists why samples were lost.
func causes(losses []tally.Loss) string {
	var list []string
	for i, l := range losses {
		if i == maxCauses {
			list = append(list, "...")
			break
		}
		list = append(list, fmt.Sprintf("%s %s", terminal.Clip(l.Cause, maxName), figures.Grouped(l.Count)))
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// reason says why there are no samples.
func (r *recording) reason(a *tally.Accounting) string {
	period := time.Second / time.Duration(r.Frequency)
	onCPU := r.Types[0] == DefaultType
	switch {
	case r.ended.gone:
		return r.endedReason()
	case onCPU && a != nil && a.Lost == 0 && r.covered(r.counted()) < period:
		return fmt.Sprintf("the recording was shorter than one sampling period of %s; raise --frequency", span(period))
	case a == nil || a.Taken == 0:
		return "none was taken in this time"
	case a.Lost > 0:
		return "what was taken was lost"
	case a.LeftOut > 0:
		return fmt.Sprintf("none of %s has a frame that you asked for", figures.Counted(a.LeftOut, "sample", "samples"))
	case !onCPU && a.Filtered > 0:
		return "what you record did nothing of the kind (" + r.Types[0] + ")"
	case !onCPU:
		return "nothing of the kind happened (" + r.Types[0] + ")"
	case a.Filtered > 0 && len(r.Containers)+len(r.Cgroups) > 0:
		return "no process of what you record used a CPU"
	case a.Filtered > 0:
		return "what you record did not use a CPU"
	}
	return "all CPUs were idle"
}

// hint says how to look at the first file, to people who sit before a terminal.
func (r *recording) hint() string {
	if r.Open || r.Messages == nil || !r.Messages.Interactive() {
		return ""
	}
	outputs := r.present()
	for i := range outputs {
		o := &outputs[i]
		switch {
		case o.path == stdoutPath || isDevice(o.path):
		case o.kind() == "svg":
			return "; open it in a browser"
		case o.kind() == "pprof":
			return "; go tool pprof -http=: " + terminal.Escape(shellQuote([]string{o.path})) + " shows it"
		case o.kind() == "speedscope":
			return "; www.speedscope.app shows it"
		}
	}
	return ""
}

// wrote is the end of the summary: what became of the recording and where it is. If
// there are files of several sample types, each has a line that says what it shows.
func (r *recording) wrote(interrupted os.Signal) []string {
	outputs := r.present()
	lines := []string{"wrote "}
	if slices.ContainsFunc(outputs, func(o output) bool { return o.sampleType != "" }) {
		lines = make([]string, len(outputs))
		for i := range outputs {
			lines[i] = "wrote " + terminal.Escape(outputs[i].written()) + outputs[i].shows()
		}
	} else {
		var names []string
		for i := range outputs {
			names = append(names, terminal.Escape(outputs[i].written()))
		}
		lines[0] += strings.Join(names, ", ")
	}
	lines[0] += r.hint()
	if interrupted != nil {
		lines[0] = fmt.Sprintf("interrupted after %s; %s", seconds(r.covered(r.counted())), lines[0])
	}
	return lines
}
