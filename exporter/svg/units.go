package svg

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// unit is how a weight is written.
type unit struct {
	// Noun follows a plain count: samples, events. Empty for scaled units.
	Noun string
	// Steps are units, each with how many of the graph's own unit it takes, the
	// largest first. Empty for counts.
	Steps []step
}

type step struct {
	Name string  `json:"name"`
	Size float64 `json:"size"`
	// One is what a single one is called, if not Name.
	One string `json:"one,omitempty"`
}

// steps is the unit as the script gets it: a noun is the only step.
func (u unit) steps() []step {
	if u.Noun == "" {
		return u.Steps
	}
	return []step{{u.Noun, 1, u.one()}}
}

func (u unit) one() string { return strings.TrimSuffix(u.Noun, "s") }

// unitOf derives how to write weights from the sample type.
func unitOf(t callgraph.ValueType) unit {
	switch t.Unit {
	case "nanoseconds", "ns":
		return unit{Steps: seconds(1e9)}
	case "microseconds", "us":
		return unit{Steps: seconds(1e6)}
	case "milliseconds", "ms":
		return unit{Steps: seconds(1e3)}
	case "seconds", "s":
		return unit{Steps: seconds(1)}
	case "bytes", "By", "byte":
		return unit{Steps: []step{{Name: "GiB", Size: 1 << 30}, {Name: "MiB", Size: 1 << 20}, {Name: "KiB", Size: 1 << 10}, {Name: "B", Size: 1}}}
	}
	noun := display(t.Type)
	if noun == "" {
		noun = "samples"
	}
	if t.Unit != "" && t.Unit != "count" && t.Unit != "1" {
		noun = display(t.Unit)
	}
	return unit{Noun: noun}
}

// seconds returns units of time for weights of which so many make a second.
func seconds(perSecond float64) []step {
	var steps []step
	for _, s := range []step{{Name: "s", Size: 1}, {Name: "ms", Size: 1e-3}, {Name: "µs", Size: 1e-6}, {Name: "ns", Size: 1e-9}} {
		if size := s.Size * perSecond; size > 0.999 {
			steps = append(steps, step{Name: s.Name, Size: size})
		}
	}
	return steps
}

// format writes a weight: 1,234 samples; 12.34 ms; 5.00 MiB.
func (u unit) format(v int64) string {
	if u.Noun != "" {
		noun := u.Noun
		if v == 1 {
			noun = u.one()
		}
		return grouped(v) + " " + noun
	}
	for i, s := range u.Steps {
		if last := i == len(u.Steps)-1; float64(v) >= s.Size || last {
			if last && s.Size == 1 {
				return grouped(v) + " " + s.Name
			}
			return fmt.Sprintf("%.2f %s", float64(v)/s.Size, s.Name)
		}
	}
	return grouped(v)
}

// grouped writes a whole number with commas between thousands.
func grouped(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(part, whole int64) string {
	if whole <= 0 {
		return "0.00%"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(part)/float64(whole))
}
