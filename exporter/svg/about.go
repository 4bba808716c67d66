package svg

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Fact is one more thing to know about where a file comes from, such as the
// version of the program that made it or the command that was given.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// formatName marks our files; formatVersion changes when a reader could not
// make sense of the files of another version.
const (
	formatName    = "flametel flame graph"
	formatVersion = 2
)

// about is what a file says about itself, as JSON in plain sight. With the
// packed graph it is all that Read needs. Numbers are whole and up to 64 bits.
type about struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Title   string `json:"title"`
	Facts   []Fact `json:"facts,omitempty"`
	// Sources has one entry, or before and after. Its order is that of the
	// weights of the graph.
	Sources []source `json:"sources"`
	// Normalized says that a comparison is one of shares.
	Normalized bool    `json:"normalized,omitempty"`
	Merged     *merged `json:"merged,omitempty"`
}

// source is one profile.
type source struct {
	Label         string      `json:"label,omitempty"`
	Group         string      `json:"group,omitempty"`
	SampleType    valueType   `json:"sampleType"`
	PeriodType    valueType   `json:"periodType"`
	Period        int64       `json:"period,omitempty"`
	Total         int64       `json:"total"`
	Samples       int64       `json:"samples"`
	Start         *time.Time  `json:"start,omitempty"`
	DurationNanos int64       `json:"durationNanos,omitempty"`
	Hosts         []string    `json:"hosts,omitempty"`
	Accounting    *accounting `json:"accounting,omitempty"`
	Saturated     bool        `json:"saturated,omitempty"`
	NotKept       int64       `json:"notKept,omitempty"`
	Invalid       int64       `json:"invalid,omitempty"`
	Records       int64       `json:"records,omitempty"`
}

type valueType struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
}

type accounting struct {
	Taken             int64           `json:"taken"`
	Kept              int64           `json:"kept"`
	Idle              int64           `json:"idle"`
	Filtered          int64           `json:"filtered"`
	Lost              int64           `json:"lost"`
	LeftOut           int64           `json:"leftOut,omitempty"`
	Missed            int64           `json:"missed,omitempty"`
	LostBy            []loss          `json:"lostBy,omitempty"`
	TruncatedStacks   int64           `json:"truncatedStacks"`
	Frames            int64           `json:"frames"`
	UnknownFrames     int64           `json:"unknownFrames"`
	FrequencyAsked    json.RawMessage `json:"frequencyAsked,omitempty"`
	FrequencyAchieved json.RawMessage `json:"frequencyAchieved,omitempty"`
	CPUs              int64           `json:"cpus,omitempty"`
}

type loss struct {
	Cause string `json:"cause"`
	Count int64  `json:"count"`
}

// merged says what the limit on the size of the file took.
type merged struct {
	Frames int64 `json:"frames"`
	Weight int64 `json:"weight"`
}

// sourceOf describes the profile behind one side of a graph.
func sourceOf(s callgraph.Side, group string) source {
	out := source{
		Label: s.Label, Group: group, SampleType: valueType(s.SampleType), PeriodType: valueType(s.PeriodType),
		Period: s.Period, Total: s.Total, Samples: s.Samples,
		DurationNanos: int64(s.Meta.Duration), Hosts: s.Meta.Hosts, Saturated: s.Meta.Saturated,
		NotKept: s.Meta.NotKept, Invalid: s.Meta.Invalid, Records: s.Meta.Records,
	}
	if !s.Meta.Start.IsZero() {
		start := s.Meta.Start.UTC()
		out.Start = &start
	}
	if a := s.Meta.Accounting; a != nil {
		out.Accounting = &accounting{
			Taken: a.Taken, Kept: a.Kept, Idle: a.Idle, Filtered: a.Filtered, Lost: a.Lost, LeftOut: a.LeftOut, Missed: a.Missed,
			TruncatedStacks: a.TruncatedStacks, Frames: a.Frames, UnknownFrames: a.UnknownFrames,
			FrequencyAsked: number(a.FrequencyAsked), FrequencyAchieved: number(a.FrequencyAchieved), CPUs: a.CPUs,
		}
		for _, l := range a.LostBy {
			out.Accounting.LostBy = append(out.Accounting.LostBy, loss(l))
		}
	}
	return out
}

// side is the reverse of sourceOf.
func (s *source) side() callgraph.Side {
	out := callgraph.Side{
		Label: s.Label, SampleType: callgraph.ValueType(s.SampleType), PeriodType: callgraph.ValueType(s.PeriodType),
		Period: s.Period, Total: s.Total, Samples: s.Samples,
		Meta: callgraph.Meta{
			Duration: time.Duration(s.DurationNanos), Hosts: s.Hosts, Saturated: s.Saturated,
			NotKept: s.NotKept, Invalid: s.Invalid, Records: s.Records,
		},
	}
	if s.Start != nil {
		out.Meta.Start = *s.Start
	}
	if a := s.Accounting; a != nil {
		to := &callgraph.Accounting{
			Taken: a.Taken, Kept: a.Kept, Idle: a.Idle, Filtered: a.Filtered, Lost: a.Lost, LeftOut: a.LeftOut, Missed: a.Missed,
			TruncatedStacks: a.TruncatedStacks, Frames: a.Frames, UnknownFrames: a.UnknownFrames, CPUs: a.CPUs,
		}
		for _, l := range a.LostBy {
			to.LostBy = append(to.LostBy, callgraph.Loss(l))
		}
		// What is no number stays 0, for unknown.
		_ = json.Unmarshal(a.FrequencyAsked, &to.FrequencyAsked)
		_ = json.Unmarshal(a.FrequencyAchieved, &to.FrequencyAchieved)
		out.Meta.Accounting = to
	}
	return out
}

// number writes a frequency; nothing for one that is unknown or no number.
func number(v float64) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil || v == 0 {
		return nil
	}
	return b
}

// jsonText returns a value as JSON that can stand in XML as it is: characters
// that XML forbids or that turn text around unseen are written as JSON's escapes.
// Those of <, > and & encoding/json makes itself.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	if isPlain(string(b)) {
		return string(b), nil
	}
	var out strings.Builder
	for _, r := range string(b) {
		if isHidden(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String(), nil
}
