package unwind

import (
	"fmt"

	"github.com/flametel/flametel/bpf/unwind"
	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/symbolize/elffile"
)

// verdict says in one sentence how far stacks can be walked through a file.
func verdict(f *elffile.File, t *unwind.Table) string {
	var code uint64
	for _, s := range f.Segments() {
		if s.Executable {
			code += uint64(s.Limit - s.Start)
		}
	}
	if t.Stats.Covered == 0 || code == 0 {
		return "no unwind information: stacks are walked by frame pointer, and cut where code keeps none"
	}
	places, stops := stopped(t)
	text := fmt.Sprintf("can be walked by its unwind information: %s, %s of the code",
		figures.Counted(int64(t.Stats.Functions), "function", "functions"), share(t.Stats.Covered-stops, code))
	if rest := code - min(t.Stats.Covered, code); rest > 0 {
		text += fmt.Sprintf("; the other %s by frame pointer", share(rest, code))
	}
	if places > 0 {
		text += fmt.Sprintf("; stacks end in %s (%s)", figures.Counted(int64(places), "place", "places"), share(stops, code))
	}
	if t.Stats.Damaged > 0 {
		text += fmt.Sprintf("; %s left out", figures.Counted(int64(t.Stats.Damaged), "damaged description", "damaged descriptions"))
	}
	return text
}

// stopped counts the rows at which a walk ends although there is a caller, and the
// bytes of code that they are for.
func stopped(t *unwind.Table) (places int, bytes uint64) {
	for i, r := range t.Rows {
		if r.Kind.Class() != unwind.KindStop || i+1 == len(t.Rows) {
			continue
		}
		places++
		bytes += uint64(t.Rows[i+1].PC - r.PC)
	}
	return places, bytes
}

// share is part of whole, never shown as nothing or as all if it is not.
func share(part, whole uint64) string {
	percent := 100 * float64(part) / float64(whole)
	switch {
	case part > 0 && percent < 0.05:
		return "<0.1%"
	case part < whole && percent >= 99.95:
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", percent)
}
