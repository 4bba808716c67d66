//go:build linux

// Program bench measures the built products on this host: what they use, what
// they cost others, how fast they start and end. Run it as root from the
// module's folder through make:
//
//	bench agent    CPU and memory of flametel and otelcol, host idle and busy
//	bench command  what users of flametel record wait for and pay, beside the goals
//	bench events   what looking at events costs the programs that have them
//	bench nginx    requests per second without a profiler, with flametel, with perf
//	bench start    from start to sampling, from the end of a recording to its file
//	bench symbols  memory while 300 processes run code of 150 libraries
//
// Absolute figures drift with the machine; ratios of one run do not.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// settings are what the command line chooses.
type settings struct {
	duration time.Duration // of one measurement
	rounds   int
	only     *regexp.Regexp // of what looks at events
	victims  *regexp.Regexp // of the programs with events
	dir      string         // for files of the run, removed at its end
	out      io.Writer
}

type benchmark struct {
	name     string
	duration time.Duration // default of settings.duration
	rounds   int           // of settings.rounds
	run      func(context.Context, settings) error
}

var benchmarks = []benchmark{
	{"agent", time.Minute, 5, agent},
	{"command", 30 * time.Second, 5, command},
	{"events", 2 * time.Second, 9, events}, // fewer rounds have no steady median
	{"nginx", 10 * time.Second, 5, nginx},
	{"start", 5 * time.Second, 5, start},
	{"symbols", 40 * time.Second, 5, symbols},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say what to measure: agent, command, events, nginx, start or symbols")
	}
	for _, b := range benchmarks {
		if b.name != args[0] {
			continue
		}
		flags := flag.NewFlagSet(b.name, flag.ContinueOnError)
		s := settings{out: os.Stdout, only: regexp.MustCompile(""), victims: regexp.MustCompile("")}
		flags.DurationVar(&s.duration, "duration", b.duration, "length of one measurement")
		flags.IntVar(&s.rounds, "rounds", b.rounds, "measurements of each kind")
		flags.Func("only", "what to compare with nothing, by a regular `expression` (events)", compileInto(&s.only))
		flags.Func("victims", "whose costs to measure, by a regular `expression` (events)", compileInto(&s.victims))
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		dir, err := os.MkdirTemp("", "flametel-bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		s.dir = dir
		describe(s.out, b.name)
		return b.run(ctx, s)
	}
	return fmt.Errorf("nothing to measure is called %q; there are agent, command, events, nginx, start and symbols", args[0])
}

func compileInto(to **regexp.Regexp) func(string) error {
	return func(text string) (err error) {
		*to, err = regexp.Compile(text)
		return err
	}
}

// describe says what the figures were measured on.
func describe(w io.Writer, name string) {
	var uts syscall.Utsname
	release := "unknown"
	if syscall.Uname(&uts) == nil {
		var b []byte
		for _, c := range uts.Release {
			if c == 0 {
				break
			}
			b = append(b, byte(c))
		}
		release = string(b)
	}
	fmt.Fprintf(w, "\n%s: Linux %s, %s, %d CPUs, %s\n\n", name, release, runtime.GOARCH, runtime.NumCPU(), time.Now().UTC().Format("2006-01-02"))
}

// pause waits for d, less if ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
