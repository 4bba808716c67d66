package speedscope

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// adder adds one profile to a graph.
type adder struct {
	*callgraph.Merger
	*reader
	ids    []int32 // of the shared frames
	root   []int32 // above all stacks
	digits int     // of decimals that become whole
	stack  []int32
	// records is the number of samples added.
	records int64
}

func (a *adder) add(e *entry) error {
	switch e.Type {
	case "sampled":
		return a.sampled(e)
	case "evented":
		return a.evented(e)
	}
	return fmt.Errorf("type %.40q is neither sampled nor evented", e.Type)
}

func (a *adder) sampled(e *entry) error {
	if len(e.Samples) != len(e.Weights) {
		return fmt.Errorf("%d samples have %d weights", len(e.Samples), len(e.Weights))
	}
	for i, sample := range e.Samples {
		if err := a.walk(len(sample)); err != nil {
			return err
		}
		a.stack = append(a.stack[:0], a.root...)
		if len(sample) > callgraph.MaxDepth {
			sample = sample[len(sample)-callgraph.MaxDepth+1:]
			a.stack = append(a.stack, a.Frame(callgraph.Frame{Name: callgraph.NameTruncated}))
		}
		for _, f := range sample {
			if f < 0 || f >= int64(len(a.ids)) {
				return fmt.Errorf("a sample has frame %d of %d", f, len(a.ids))
			}
			a.stack = append(a.stack, a.ids[f])
		}
		v, err := whole(e.Weights[i], a.digits)
		if err != nil {
			return err
		}
		if v < 0 {
			return fmt.Errorf("weight %s is negative", e.Weights[i])
		}
		a.put(v)
	}
	return nil
}

func (a *adder) walk(frames int) error {
	if a.steps += frames + 1; a.steps > maxSteps {
		return fmt.Errorf("the samples have more than %d frames", maxSteps)
	}
	if a.TooLarge() {
		return callgraph.ErrTooLarge
	}
	return nil
}

func (a *adder) put(v int64) {
	if v > 0 {
		a.records++
		a.Add(a.stack, 0, v)
	}
}

// evented adds the time between two events to the stack that is open. Times are
// rounded before they are subtracted, so that the sum is that of the whole.
func (a *adder) evented(e *entry) error {
	before, err := whole(e.Start, a.digits)
	if err != nil {
		return err
	}
	a.stack = append(a.stack[:0], a.root...)
	var open []int64
	advance := func(at json.Number) error {
		now, err := whole(at, a.digits)
		if err != nil {
			return err
		}
		if now < before {
			return fmt.Errorf("an event at %s comes after a later one", at)
		}
		if len(open) > 0 {
			if err := a.walk(len(a.stack)); err != nil {
				return err
			}
			a.put(now - before)
		}
		before = now
		return nil
	}
	for _, ev := range e.Events {
		if ev.Frame < 0 || ev.Frame >= int64(len(a.ids)) {
			return fmt.Errorf("an event has frame %d of %d", ev.Frame, len(a.ids))
		}
		if err := advance(ev.At); err != nil {
			return err
		}
		switch {
		case ev.Type == "O" && len(open) < callgraph.MaxDepth:
			open = append(open, ev.Frame)
			a.stack = append(a.stack, a.ids[ev.Frame])
		case ev.Type == "O":
			return fmt.Errorf("more than %d frames are open", callgraph.MaxDepth)
		case ev.Type == "C" && len(open) > 0 && open[len(open)-1] == ev.Frame:
			open = open[:len(open)-1]
			a.stack = a.stack[:len(a.stack)-1]
		case ev.Type == "C":
			return fmt.Errorf("frame %d is closed at %s but is not the innermost", ev.Frame, ev.At)
		default:
			return fmt.Errorf("event %.20q is neither O nor C", ev.Type)
		}
	}
	if len(open) > 0 && e.End != "" {
		return advance(e.End) // frames that nobody closed last until the end
	}
	return nil
}

// maxDecimals is how many digits after the point are kept.
const maxDecimals = 9

// decimals is the largest number of digits after the point in a profile.
func (e *entry) decimals() int {
	digits := decimals(e.Start)
	for _, w := range e.Weights {
		digits = max(digits, decimals(w))
	}
	for i := range e.Events {
		digits = max(digits, decimals(e.Events[i].At))
	}
	return digits
}

func decimals(n json.Number) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(string(n)), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	digits := len(strings.TrimRight(fraction, "0"))
	if strings.HasPrefix(exponent, "-") {
		return maxDecimals
	}
	return min(digits, maxDecimals)
}

// scale returns how many digits after the point become whole, and the unit that
// the numbers then have: nanoseconds for any time.
func scale(unit string, digits int) (factor int, to string) {
	if digits == 0 {
		return 0, unit
	}
	switch unit {
	case "seconds":
		return 9, "nanoseconds"
	case "milliseconds":
		return 6, "nanoseconds"
	case "microseconds":
		return 3, "nanoseconds"
	case "nanoseconds", "bytes":
		return 0, unit
	}
	return digits, unit
}

var errRange = errors.New("is beyond 64 bits")

// whole multiplies a number by a power of ten and rounds it.
func whole(n json.Number, digits int) (int64, error) {
	if n == "" {
		return 0, nil
	}
	if v, err := n.Int64(); err == nil && digits == 0 {
		return v, nil
	}
	const longest = 400 // digits; a float has up to 309 before the point
	f, err := n.Float64()
	if err != nil || len(n) > longest || math.Abs(f) >= math.MaxInt64 {
		return 0, fmt.Errorf("number %.40s %w", n, errRange)
	}
	if math.Abs(f) < 1e-12 {
		return 0, nil // an exponent of any size
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return 0, fmt.Errorf("number %.40s %w", n, errRange)
	}
	r.Mul(r, new(big.Rat).SetInt64(pow10(digits)))
	// Rounded half up: floor(r + 1/2).
	r.Add(r, big.NewRat(1, 2))
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: floor, as denominators are positive
	if !q.IsInt64() {
		return 0, fmt.Errorf("number %.40s %w", n, errRange)
	}
	return q.Int64(), nil
}

func pow10(n int) int64 {
	v := int64(1)
	for range n {
		v *= 10
	}
	return v
}
