//go:build linux

// Program compareperf profiles the same processes in the same seconds with perf
// and with flametel and compares what the two say. Run it as root from the
// module's folder: make compare-perf.
//
// It compares the functions with the most self time: of perf's first five, those
// with at least one per cent of it have to be among our first five. A function
// is the one whose code runs, by its name in the symbol table: functions inlined
// into it are not told apart. Of a program with a flat profile it compares the
// share of each module. It fails if fewer than 80 % of perf's functions are among
// ours, or if a share differs by more than five points.
//
// With -stacks it compares user stacks instead: perf copies the stack and walks
// it by DWARF when the recording is over (perf record --call-graph dwarf). The
// two do not take the same samples, so what is compared is which part of the
// stacks reaches the start of its thread, how many frames they have, and which
// part of perf's stacks consist of calls that flametel has seen too. It fails if
// flametel is behind by more than two points, or two per cent of the frames.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

const (
	topFunctions    = 5
	leastShare      = 0.01
	leastOverlap    = 0.8
	mostDifference  = 0.05
	samplesPerSec   = "99"
	defaultDuration = 10 * time.Second
	// settle is left to a workload before both profilers start: the start-up of
	// an interpreter is not what is compared.
	settle = 2 * time.Second
)

func main() {
	duration := flag.Duration("duration", defaultDuration, "how long each workload is profiled")
	stacks := flag.Bool("stacks", false, "compare user stacks with those of perf record --call-graph dwarf")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	compare := run
	if *stacks {
		compare = runStacks
	}
	if err := compare(ctx, *duration); err != nil {
		fmt.Fprintln(os.Stderr, "compareperf:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration) error {
	dir, err := os.MkdirTemp("", "flametel-compare-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	list, err := workloads(dir)
	if err != nil {
		return err
	}

	functions := [][]string{{"program", "samples, perf / flametel", "top functions by self time, perf", "flametel", "overlap"}}
	modules := [][]string{{"program", "module", "perf", "flametel", "difference"}}
	var bad []error
	for _, w := range list {
		perf, ours, err := summarizeBoth(ctx, dir, w, duration)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if w.flat {
			rows, worst := compareModules(w.name, perf, ours)
			modules = append(modules, rows...)
			if worst > mostDifference {
				bad = append(bad, fmt.Errorf("%s: a module's share differs by %.1f points", w.name, 100*worst))
			}
			continue
		}
		row, overlap := compareFunctions(w.name, perf, ours)
		functions = append(functions, row)
		if overlap < leastOverlap {
			bad = append(bad, fmt.Errorf("%s: %.0f %% of perf's top functions are among ours", w.name, 100*overlap))
		}
	}
	if err := measure.Table(os.Stdout, functions); err != nil {
		return err
	}
	fmt.Println()
	return errors.Join(append(bad, measure.Table(os.Stdout, modules))...)
}
