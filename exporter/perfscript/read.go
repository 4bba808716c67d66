package perfscript

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/lines"
)

// maxEvents bounds the events that are told apart; perf records dozens at most.
const maxEvents = 1000

// Result is what Read found.
type Result struct {
	// Graphs has one graph for each event, sorted by name.
	Graphs []*callgraph.Graph
	// Bad are the first lines that were left out, BadLines is their number.
	Bad      []lines.Bad
	BadLines int
}

// header matches the first line of a sample: thread, process/thread IDs, CPU,
// flags, time, period, event, and what else stands on the line.
var header = regexp.MustCompile(`^\s*(\S.*?)\s+(-?\d+)(?:/(-?\d+))?(?:\s+\[(\d+)\])?(?:\s+[A-Za-z.@~+-]{4,8})?(?:\s+(\d+\.\d+):)?(?:\s+(\d+))?\s+([^\s:][^\s]*):(?:\s+(.*))?$`)

// looksLike matches lines that only perf script prints.
var looksLike = regexp.MustCompile(`^\s*\S.*?\s+-?\d+(?:/-?\d+)?\s.*?[^\s:]\S*:(?:\s|$)`)

// Is reports whether the first lines of a text look like those of perf script.
func Is(head string) bool {
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := header.FindStringSubmatch(line)
		return m != nil && looksLike.MatchString(line) && (m[8] == "" || strings.Contains(m[8], "(") || m[5] != "")
	}
	return false
}

// Read reads the text. Lines that make no sense are reported and left out. An
// error is an error of r, or says that there is not one sample.
func Read(r io.Reader) (*Result, error) {
	p := &parser{first: callgraph.NewMerger(1), frames: map[string]frame{}, events: map[string]*event{}}
	in := lines.NewReader(r)
	for {
		line, ok := in.Next()
		if !ok {
			break
		}
		if err := p.line(line); err != nil {
			in.Bad(err)
		}
		if p.open != nil && p.open.TooLarge() {
			return nil, fmt.Errorf("read text of perf script: what stands before line %d %w", in.Number(), callgraph.ErrTooLarge)
		}
	}
	p.flush()
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("read text of perf script at line %d: %w", in.Number(), err)
	}
	if len(p.events) == 0 {
		return nil, errors.New("read text of perf script: there is no sample in it; print it with perf script, without options")
	}
	return &Result{Graphs: p.graphs(), Bad: in.First, BadLines: in.Count}, nil
}

type parser struct {
	first  *callgraph.Merger
	events map[string]*event
	frames map[string]frame // by text, numbers in first

	// Of the sample at hand; open is nil between samples.
	open    *event
	thread  int32
	stack   []frame // leaf first
	skipped int     // frames beyond the limit
	path    []int32
}

// event is one graph being filled.
type event struct {
	*callgraph.Merger
	name       string
	records    int64
	start, end float64 // seconds
	period     int64   // of all samples; 0 if they differ or do not say
}

func (p *parser) line(line string) error {
	if strings.TrimSpace(line) == "" {
		p.flush()
		return nil
	}
	if strings.HasPrefix(line, "#") {
		return nil
	}
	// Frames begin with a tab. Without call chains samples begin with spaces.
	var m []string
	if line[0] != '\t' {
		m = header.FindStringSubmatch(line)
	}
	switch {
	case m != nil:
		p.flush()
		return p.begin(m)
	case line[0] != '\t' && line[0] != ' ':
		return errors.New("is neither a sample nor a frame")
	case p.open == nil:
		return errors.New("is a frame without a sample")
	}
	// What is no frame is the line of a source file, or data of the event.
	if f, ok := p.frame(line); ok {
		p.push(f)
	}
	return nil
}

// begin starts a sample.
func (p *parser) begin(m []string) error {
	e, err := p.event(eventName(m[7]))
	if err != nil {
		return err
	}
	p.open = e
	p.thread = p.first.Frame(callgraph.Frame{Name: strings.TrimSpace(m[1]), Kind: callgraph.Process})
	if at, err := strconv.ParseFloat(m[5], 64); err == nil {
		if e.records == 0 {
			e.start = at
		}
		e.start, e.end = min(e.start, at), max(e.end, at)
	}
	period, _ := strconv.ParseInt(m[6], 10, 64)
	if e.records == 0 {
		e.period = period
	} else if e.period != period {
		e.period = 0
	}
	if f, ok := p.frame(m[8]); ok {
		p.push(f)
	}
	return nil
}

func (p *parser) event(name string) (*event, error) {
	e := p.events[name]
	if e == nil {
		if len(p.events) >= maxEvents {
			return nil, fmt.Errorf("is of another than the first %d events", maxEvents)
		}
		e = &event{Merger: p.first.Sibling(), name: strings.Clone(name)}
		p.events[e.name] = e
	}
	return e, nil
}

// eventName drops the modifiers of perf's events: cpu-clock:pppH.
func eventName(text string) string {
	text = strings.TrimSuffix(text, ":")
	if i := strings.LastIndexByte(text, ':'); i > 0 && strings.Trim(text[i+1:], "ukhGHIpPSDWeb") == "" {
		return text[:i]
	}
	return text
}

// periodType is what the period of an event measures. Those of the two clocks of
// perf are the nanoseconds that a CPU was busy.
func periodType(event string) callgraph.ValueType {
	if event == "cpu-clock" || event == "task-clock" {
		return callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}
	}
	return callgraph.ValueType{Type: event, Unit: "count"}
}

func (p *parser) push(f frame) {
	if len(p.stack) >= callgraph.MaxDepth-1 {
		p.skipped++
		return
	}
	p.stack = append(p.stack, f)
}

// flush adds the sample at hand.
func (p *parser) flush() {
	if p.open == nil {
		return
	}
	p.path = append(p.path[:0], p.thread)
	if p.skipped > 0 {
		p.path = append(p.path, p.first.Frame(callgraph.Frame{Name: callgraph.NameTruncated}))
	}
	p.inlined()
	for _, f := range slices.Backward(p.stack) {
		p.path = append(p.path, f.id)
	}
	p.open.records++
	p.open.Add(p.path, 0, 1)
	p.open, p.stack, p.skipped = nil, p.stack[:0], 0
}

// graphs are those of all events, by name.
func (p *parser) graphs() []*callgraph.Graph {
	var out []*callgraph.Graph
	byName := func(a, b *event) int { return cmp.Compare(a.name, b.name) }
	for _, e := range slices.SortedFunc(maps.Values(p.events), byName) {
		g := e.Graph()
		g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
		g.PeriodType, g.Period = periodType(e.name), e.period
		g.Meta.Records = e.records
		if seconds := e.end - e.start; seconds > 0 && seconds < math.MaxInt64/1e9 {
			g.Meta.Duration = time.Duration(seconds * 1e9)
		}
		out = append(out, g)
	}
	return out
}
