package record

import (
	"fmt"
	"os"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

const (
	topFunctions = 5
	// maxFunction is the room for the name of a function, in characters: a
	// summary fits a terminal of 80 columns.
	maxFunction = 62
	// maxCauses is how many causes of loss are named.
	maxCauses = 3
)

// summarize writes the summary, at most eight lines.
func (r *recording) summarize(interrupted os.Signal) {
	if r.Quiet {
		return
	}
	for _, line := range r.summary(interrupted) {
		r.Messages.Printf("%s", line)
	}
}

func (r *recording) summary(interrupted os.Signal) []string {
	k := r.pipeline.tally.Kind(r.kind())
	var lines []string
	if k.Total == 0 {
		lines = append(lines, "no samples: "+reason(k.Accounting))
	} else {
		lines = append(lines, r.totals(k))
	}
	if a := k.Accounting; a != nil && a.Taken > 0 {
		lines = append(lines, losses(a))
	}
	for _, s := range k.Top(topFunctions) {
		lines = append(lines, fmt.Sprintf("%7s  %-7s  %s", percent(s.Self, k.Total), s.Kind, terminal.Clip(s.Name, maxFunction)))
	}
	return append(lines, r.wrote(interrupted))
}

// totals is the line about what is in the files.
func (r *recording) totals(k *tally.Kind) string {
	text := fmt.Sprintf("%s in %s", counted(k.Total, "sample", "samples"), seconds(r.elapsed))
	if n := k.Processes(); n > 0 {
		text += " from " + counted(int64(n), "process", "processes")
	}
	a := k.Accounting
	if a == nil {
		return text
	}
	if a.Frames > 0 {
		text += ", " + percent(a.UnknownFrames, a.Frames) + " of frames unknown"
	}
	if a.Asked > 0 && a.Achieved > 0 {
		text += fmt.Sprintf("; %.1f of %g Hz achieved", a.Achieved, a.Asked)
	}
	return text
}

// losses is the line about what is not in the files.
func losses(a *tally.Accounting) string {
	text := fmt.Sprintf("%s of %s taken lost", grouped(a.Lost), counted(a.Taken, "sample", "samples"))
	if a.Lost > 0 {
		text += " (" + percent(a.Lost, a.Taken) + ")"
	}
	var causes []string
	for i, l := range a.LostBy() {
		if i == maxCauses {
			causes = append(causes, "others")
			break
		}
		causes = append(causes, fmt.Sprintf("%s %s", terminal.Clip(l.Cause, maxName), grouped(l.Count)))
	}
	if len(causes) > 0 {
		text += ": " + strings.Join(causes, ", ")
	}
	if a.Missed > 0 {
		text += fmt.Sprintf("; %s missed", counted(a.Missed, "timer tick", "timer ticks"))
	}
	if a.Idle > 0 {
		text += fmt.Sprintf("; %s of idle CPUs left out", grouped(a.Idle))
	}
	if a.Filtered > 0 {
		text += fmt.Sprintf("; %s of other processes", grouped(a.Filtered))
	}
	return text
}

// reason says why there are no samples.
func reason(a *tally.Accounting) string {
	switch {
	case a == nil || a.Taken == 0:
		return "none was taken; was what you record using a CPU at all?"
	case a.Lost > 0:
		return "what was taken was lost"
	case a.Filtered > 0:
		return "what you record did not use a CPU"
	}
	return "all CPUs were idle"
}

// wrote is the last line: what became of the recording and where it is.
func (r *recording) wrote(interrupted os.Signal) string {
	names := make([]string, len(r.outputs))
	for i := range r.outputs {
		names[i] = terminal.Escape(r.outputs[i].written())
	}
	text := "wrote " + strings.Join(names, ", ")
	if interrupted != nil {
		return fmt.Sprintf("interrupted after %s; %s", seconds(r.elapsed), text)
	}
	return text
}
