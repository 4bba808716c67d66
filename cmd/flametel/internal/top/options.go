package top

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
)

// Options say what to show.
type Options struct {
	// Record holds the targets, the frequency and how names are shown.
	Record record.Options
	// Interval is how often the table is renewed, Span the time that it covers.
	// A Span of 0 stands for DefaultSpan, or Interval in batch mode.
	Interval, Span time.Duration
	Sort           string // self or total
	View           string // functions, modules or processes
	Filter         string // regular expression
	// Count is how many tables are printed; 0: they are shown on a terminal
	// until the user leaves.
	Count int
	Rows  int // of a printed table
}

// The defaults and bounds.
const (
	DefaultInterval = 2 * time.Second
	DefaultSpan     = 10 * time.Second
	DefaultRows     = 20

	minInterval = 200 * time.Millisecond
	maxInterval = time.Minute
	maxSpan     = 10 * time.Minute
	maxRows     = 10_000
)

// The values of Options.Sort.
const (
	bySelf  = "self"
	byTotal = "total"
)

// Sorts lists what a table can be sorted by.
func Sorts() []string { return []string{bySelf, byTotal} }

// Views lists what a table can be about.
func Views() []string { return levelNames[:] }

// Validate returns all mistakes at once, each naming the flag.
func (o *Options) Validate() error {
	errs := []error{o.Record.Validate()}
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Interval < minInterval || o.Interval > maxInterval {
		add("--interval must be between %v and %v, got %v", minInterval, "1m", o.Interval)
	}
	if o.Span != 0 && (o.Span < o.Interval || o.Span > maxSpan) {
		add("--span must be between --interval and %v, got %v", "10m", o.Span)
	}
	if o.Sort != bySelf && o.Sort != byTotal {
		add("--sort %q is not one of self, total", o.Sort)
	}
	if _, known := levelNamed(o.View); !known {
		add("--view %q is not one of functions, modules, processes", o.View)
	}
	if _, err := regexp.Compile(o.Filter); err != nil {
		add("--filter %q: %w", o.Filter, err)
	}
	if o.Count < 0 {
		add("--iterations must not be negative, got %d", o.Count)
	}
	if o.Rows < 1 || o.Rows > maxRows {
		add("--rows must be between 1 and %d, got %d", maxRows, o.Rows)
	}
	return errors.Join(errs...)
}

// span is the time that a table covers.
func (o *Options) span() time.Duration {
	switch {
	case o.Span > 0:
		return o.Span
	case o.Count > 0:
		return o.Interval
	}
	return max(DefaultSpan, o.Interval)
}

// window is how much time the receiver gives at once. Of short windows a printed
// table is put together that covers what was asked for, and hardly more.
func (o *Options) window() time.Duration {
	if o.Count > 0 {
		return min(o.Interval, o.Record.DrainInterval)
	}
	return o.Interval
}
