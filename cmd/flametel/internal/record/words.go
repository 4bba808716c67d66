package record

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
)

// wording makes a sentence for people of what a component logs for operators of a
// collector, whose settings are not the flags of a command.
type wording struct {
	say func(fields map[string]any) string
	// hint: it is about the programs that are recorded, not about the recording.
	hint bool
}

// wordings are by the message, which is constant.
func wordings() map[string]wording {
	return map[string]wording{
		"Samples were lost.":           {say: sayLost},
		"A kernel map is nearly full.": {say: sayFull},
		"Not all unwind tables fit: stacks of code without frame pointers may be cut. Set unwind::max_table_mib higher.":                                  {say: sayCrowded},
		"The kernel does not take unwind tables: stacks of code without frame pointers are cut. Set unwind::tables to false to do without them silently.": {say: sayNoTables},
		"A file is compared with nothing.":                                     {say: sayAlone},
		"Generated code has no names.":                                         {say: sayUnnamed, hint: true},
		"A perf map, which names generated code, was not read or not in full.": {say: sayMap, hint: true},
	}
}

// lossWords say what the causes of loss mean; docs/troubleshooting.md says more.
var lossWords = map[string]string{
	"counts_full": "no room to count them",
	"stacks_full": "no room for the stack",
	"scratch":     "came in the middle of another",
	"state":       "begin not noted",
	"recursion":   "came in the middle of another",
	"window_full": "too many different stacks",
	"oversized":   "stack too large to send",
}

// roomier: the maps of the kernel are sized by the drain interval.
const roomier = "a longer --drain-interval makes room for more"

// sayLost: 3 of 6,193 waits lost: begin not noted (state).
func sayLost(fields map[string]any) string {
	name, _ := fields["kind"].(string)
	k := kind{one: "sample", many: "samples"}
	if i := slices.IndexFunc(kinds(), func(k kind) bool { return k.name == name }); i >= 0 {
		k = kinds()[i]
	}
	causes, _ := fields["causes"].(map[string]uint64)
	var parts []string
	room := false
	byCount := func(a, b string) int { return cmp.Or(cmp.Compare(causes[b], causes[a]), cmp.Compare(a, b)) }
	for _, cause := range slices.SortedFunc(maps.Keys(causes), byCount) {
		if causes[cause] == 0 {
			continue
		}
		room = room || cause == "counts_full" || cause == "stacks_full"
		text := cmp.Or(lossWords[cause], "for another reason") + " (" + cause + ")"
		if n := causes[cause]; fmt.Sprint(n) != fmt.Sprint(fields["lost"]) {
			text = figures.Grouped(int64(n)) + " " + text
		}
		parts = append(parts, text)
	}
	text := fmt.Sprintf("%s of %s lost: %s", grouped(fields["lost"]), counted(fields["taken"], k.one, k.many), strings.Join(parts, ", "))
	if room {
		text += "; " + roomier
	}
	return text
}

// sayFull names what is in the map: counts or stacks of a kind.
func sayFull(fields map[string]any) string {
	name, _ := fields["map"].(string)
	name, what, _ := strings.Cut(name, ".")
	fill, _ := fields["fill"].(float64)
	return fmt.Sprintf("the kernel's room for %s of %s is %.0f%% full, and what does not fit is lost; %s", what, name, 100*fill, roomier)
}

func sayCrowded(map[string]any) string {
	return "not all unwind tables fit: stacks of code without frame pointers may be cut; record fewer processes"
}

func sayNoTables(fields map[string]any) string {
	return fmt.Sprintf("this kernel does not take unwind tables: stacks of code without frame pointers are cut (%v)", fields["error"])
}

func sayAlone(fields map[string]any) string {
	return fmt.Sprintf("--diff %v: there is nothing to compare %v with: %v", fields["baseline"], fields["type"], fields["error"])
}

func sayUnnamed(fields map[string]any) string {
	return fmt.Sprintf("%s generates code without names; %s to see them", program(fields["executable"]), fields["advice"])
}

func sayMap(fields map[string]any) string {
	reason := strings.ReplaceAll(fmt.Sprint(fields["reason"]), "_", " ")
	return fmt.Sprintf("a perf map, which names generated code, was not read in full (%s): %s", reason, fields["advice"])
}

// program is the last part of the name of an executable.
func program(path any) string { return filepath.Base(fmt.Sprint(path)) }

func grouped(n any) string {
	v, _ := n.(uint64)
	return figures.Grouped(int64(v))
}

func counted(n any, one, many string) string {
	v, _ := n.(uint64)
	return figures.Counted(int64(v), one, many)
}
