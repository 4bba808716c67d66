package svg

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// unit is how a weight is written. The script gets the same description.
type unit struct {
	// Noun follows a plain count: samples, events. Empty for scaled units.
	Noun string `json:"noun"`
	// Steps are units, each with how many of the graph's own unit it takes, the
	// largest first. Empty for counts.
	Steps []step `json:"steps"`
}

type step struct {
	Name string  `json:"name"`
	Size float64 `json:"size"`
}

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
		return unit{Steps: []step{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}}
	}
	noun := display(t.Type)
	if noun == "" {
		noun = "samples"
	}
	if t.Unit != "" && t.Unit != "count" && t.Unit != "1" {
		noun = display(t.Unit)
	}
	return unit{Noun: noun, Steps: []step{}}
}

// seconds returns units of time for weights of which so many make a second.
func seconds(perSecond float64) []step {
	var steps []step
	for _, s := range []step{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}} {
		if size := s.Size * perSecond; size > 0.999 {
			steps = append(steps, step{s.Name, size})
		}
	}
	return steps
}

// format writes a weight: 1,234 samples; 12.34 ms; 5.00 MiB.
func (u unit) format(v int64) string {
	if u.Noun != "" {
		noun := u.Noun
		if v == 1 {
			noun = strings.TrimSuffix(noun, "s")
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
