//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

const (
	// mostBehind is how many points of the stacks that are complete, and which
	// part of the frames, flametel may be behind: chance.
	mostBehind = 0.02
	// dwarf makes perf copy as much of the stack as it can.
	dwarf = "--call-graph=dwarf,65528"
	// unknown is what perf calls functions without a name.
	unknown = "[unknown]"
)

// A stackSummary is what a profiler saw of the user stacks of a program.
type stackSummary struct {
	stacks, complete, frames float64
	calls                    map[call]bool
	each                     [][]call // of perf, for looking them up
}

// A call is who calls whom.
type call struct{ caller, callee string }

func (s *stackSummary) add(names []string, complete bool, n float64) {
	if len(names) == 0 {
		return
	}
	s.stacks += n
	s.frames += n * float64(len(names))
	if complete {
		s.complete += n
	}
	var list []call
	for i := range len(names) - 1 {
		c := call{names[i+1], names[i]}
		if c.caller == unknown || c.callee == unknown {
			continue
		}
		s.calls[c] = true
		list = append(list, c)
	}
	s.each = append(s.each, list)
}

// runStacks compares user stacks.
func runStacks(ctx context.Context, duration time.Duration) error {
	dir, err := os.MkdirTemp("", "flametel-compare-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	list, err := stackWorkloads(dir)
	if err != nil {
		return err
	}
	rows := [][]string{{"program", "stacks, perf / flametel", "complete, perf", "flametel", "frames, perf", "flametel", "perf's stacks of calls seen by both"}}
	var bad []error
	for _, w := range list {
		data, mine, err := profileBoth(ctx, dir, w, duration, dwarf)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		names := &aliases{}
		ours, err := readPprofStacks(mine, names)
		if err != nil {
			return err
		}
		perf, err := readPerfStacks(ctx, data, names)
		if err != nil {
			return err
		}
		row, err := compareStacks(w.name, perf, ours)
		rows = append(rows, row)
		bad = append(bad, err)
	}
	return errors.Join(append(bad, measure.Table(os.Stdout, rows))...)
}

// compareStacks returns a row of the table, and an error if we are behind.
func compareStacks(name string, perf, ours *stackSummary) ([]string, error) {
	share := func(s *stackSummary) float64 { return s.complete / math.Max(1, s.stacks) }
	depth := func(s *stackSummary) float64 { return s.frames / math.Max(1, s.stacks) }
	var known float64
	for _, calls := range perf.each {
		all := true
		for _, c := range calls {
			all = all && ours.calls[c]
		}
		if all {
			known++
		}
	}
	row := []string{
		name, fmt.Sprintf("%.0f / %.0f", perf.stacks, ours.stacks),
		fmt.Sprintf("%.1f %%", 100*share(perf)), fmt.Sprintf("%.1f %%", 100*share(ours)),
		fmt.Sprintf("%.1f", depth(perf)), fmt.Sprintf("%.1f", depth(ours)),
		fmt.Sprintf("%.1f %%", 100*known/math.Max(1, perf.stacks)),
	}
	if share(ours) < share(perf)-mostBehind {
		return row, fmt.Errorf("%s: %.1f %% of the stacks are complete, of perf's %.1f %%", name, 100*share(ours), 100*share(perf))
	}
	// Of incomplete stacks the longer ones are no better.
	if share(perf) > 1-mostBehind && depth(ours) < depth(perf)*(1-mostBehind) {
		return row, fmt.Errorf("%s: stacks have %.1f frames, those of perf %.1f", name, depth(ours), depth(perf))
	}
	return row, nil
}

// readPprofStacks reads what flametel wrote.
func readPprofStacks(path string, names *aliases) (*stackSummary, error) {
	p, err := parsePprof(path)
	if err != nil {
		return nil, err
	}
	s := &stackSummary{calls: make(map[call]bool)}
	for _, sample := range p.Sample {
		var stack []string
		complete := true
		for _, l := range sample.Location {
			module, function := unknown, unknown
			if l.Mapping != nil {
				module = l.Mapping.File
			}
			if n := len(l.Line); n > 0 {
				f := l.Line[n-1].Function
				function = names.canonical(module, cmp.Or(f.SystemName, f.Name))
			}
			switch {
			case function == "[truncated]":
				complete = false
			case strings.HasPrefix(module, "[kernel"), isKernelModule(module):
			default:
				stack = append(stack, function)
			}
		}
		s.add(stack, complete, float64(sample.Value[0]))
	}
	return s, nil
}

// isKernelModule tells the names of kernel modules from those of files and from
// [vdso] and [anon].
func isKernelModule(module string) bool {
	return strings.HasPrefix(module, "[") && module != "[vdso]" && module != "[anon]" && module != unknown
}

// perfRoot are the functions that threads begin with, and those that the start of
// a stripped program calls.
var perfRoot = regexp.MustCompile(`^(_start|__clone3?|clone3?|__libc_start_main.*|runtime\.(goexit|mstart|mcall|rt0_go).*|_rt0_.*)$`)

// perfAddress takes a frame of perf script apart: address, name, module.
var perfAddress = regexp.MustCompile(`^\s*([0-9a-f]+) (.*) \((.*)\)$`)

// readPerfStacks reads what perf recorded and walks it, which takes perf much
// longer than recording.
func readPerfStacks(ctx context.Context, path string, names *aliases) (*stackSummary, error) {
	out, err := exec.CommandContext(ctx, "perf", "script", "--no-inline", "--no-demangle", "--max-stack", "2000", "-i", path, "-F", "ip,sym,dso").Output()
	if err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	s := &stackSummary{calls: make(map[call]bool)}
	var stack []string
	var roots [2]string // the outermost two
	end := func() {
		s.add(stack, perfRoot.MatchString(roots[0]) || roots[0] == unknown && perfRoot.MatchString(roots[1]), 1)
		stack, roots = nil, [2]string{}
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := perfAddress.FindStringSubmatch(lines.Text())
		switch {
		case strings.TrimSpace(lines.Text()) == "":
			end()
		case m == nil, len(m[1]) == 16 && m[1][0] == 'f': // the kernel
		default:
			roots = [2]string{m[2], roots[0]}
			stack = append(stack, names.canonical(m[3], m[2]))
		}
	}
	end()
	return s, lines.Err()
}

// stackWorkloads are programs whose stacks are not easy to walk.
func stackWorkloads(dir string) ([]workload, error) {
	list, err := workloads(dir)
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i].name == "node" {
			list[i].command = append([]string{"node", "--perf-basic-prof", "--interpreted-frames-native-stack"}, list[i].command[2:]...)
		}
	}
	return append(list,
		workload{name: "openssl rsa2048", command: []string{"openssl", "speed", "-seconds", "300", "rsa2048"}},
		workload{name: "openssl aes-128-gcm", command: []string{"openssl", "speed", "-seconds", "300", "-evp", "aes-128-gcm"}},
		workload{name: "perl", command: []string{"perl", "-e", "while (1) { my %h = map { $_ => join ',', sort { $b cmp $a } 1..50 } 1..500 }"}},
		workload{name: "xz", command: []string{"sh", "-c", "exec xz -c /dev/urandom >/dev/null"}},
	), nil
}
