//go:build linux

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/flametel/flametel/internal/tools/measure"
)

// A summary is where a profiler saw the self time of a program, in samples.
type summary struct {
	total     float64
	functions map[string]float64
	modules   map[string]float64
}

func newSummary() *summary {
	return &summary{functions: map[string]float64{}, modules: map[string]float64{}}
}

func (s *summary) add(function, module string, n float64) {
	s.total += n
	s.functions[function] += n
	s.modules[module] += n
}

// summarizeBoth runs a workload and returns where both profilers saw its time.
func summarizeBoth(ctx context.Context, dir string, w workload, duration time.Duration) (perf, ours *summary, err error) {
	data, mine, err := profileBoth(ctx, dir, w, duration, "-g")
	if err != nil {
		return nil, nil, err
	}
	names := &aliases{}
	if ours, err = readPprof(mine, names); err != nil {
		return nil, nil, err
	}
	perf, err = readPerf(ctx, data, names)
	return perf, ours, err
}

// profileBoth runs a workload and has both profilers look at it at once. It
// returns the files that they wrote; options are those of perf record.
func profileBoth(ctx context.Context, dir string, w workload, duration time.Duration, options ...string) (data, mine string, err error) {
	group := measure.Group{Dir: dir}
	defer group.Stop()
	pid, err := group.Start(w.command[0], w.command[1:]...)
	if err != nil {
		return "", "", err
	}
	select {
	case <-ctx.Done():
		return "", "", ctx.Err()
	case <-time.After(settle):
	}

	data, mine = filepath.Join(dir, "perf.data"), filepath.Join(dir, "flametel.pb.gz")
	seconds := strconv.FormatFloat(duration.Seconds(), 'f', -1, 64)
	target := strconv.Itoa(pid)
	args := slices.Concat([]string{"record", "-q", "-F", samplesPerSec}, options, []string{"-p", target, "-o", data, "--", "sleep", seconds})
	theirs := exec.CommandContext(ctx, "perf", args...)
	theirs.Stderr = os.Stderr
	if err := theirs.Start(); err != nil {
		return "", "", err
	}
	out, err := exec.CommandContext(ctx, "bin/flametel", "record", "-p", target, "-d", seconds, "-F", samplesPerSec, "-f", "pprof", "-o", mine).CombinedOutput()
	if waitErr := theirs.Wait(); waitErr != nil {
		return "", "", fmt.Errorf("perf record: %w", waitErr)
	}
	if err != nil {
		return "", "", fmt.Errorf("flametel record: %w\n%s", err, out)
	}
	return data, mine, nil
}

// parsePprof reads what flametel wrote.
func parsePprof(path string) (*profile.Profile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	p, err := profile.Parse(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return p, nil
}

// readPprof adds up what flametel wrote. Of functions inlined into each other it
// takes the one that has the code, which is the last: perf shows no other. Of its
// names it takes the one in the symbol table.
func readPprof(path string, names *aliases) (*summary, error) {
	p, err := parsePprof(path)
	if err != nil {
		return nil, err
	}
	s := newSummary()
	for _, sample := range p.Sample {
		leaf := sample.Location[0]
		function, module := "[unknown]", "[unknown]"
		if leaf.Mapping != nil {
			module = leaf.Mapping.File
		}
		if n := len(leaf.Line); n > 0 {
			f := leaf.Line[n-1].Function
			function = names.canonical(module, cmp.Or(f.SystemName, f.Name))
		}
		s.add(function, base(module), float64(sample.Value[0]))
	}
	return s, nil
}

// A frame as perf script prints it: address, name, module in brackets.
var perfFrame = regexp.MustCompile(`^\s*[0-9a-f]+ (.*) \((.*)\)$`)

// readPerf reads what perf recorded. Samples are blocks of lines, leaf first,
// with an empty line between them.
func readPerf(ctx context.Context, path string, names *aliases) (*summary, error) {
	out, err := exec.CommandContext(ctx, "perf", "script", "--no-inline", "--no-demangle", "-i", path, "-F", "ip,sym,dso").Output()
	if err != nil {
		return nil, fmt.Errorf("perf script: %w", err)
	}
	return parsePerf(out, names)
}

func parsePerf(out []byte, names *aliases) (*summary, error) {
	s := newSummary()
	leaf := true
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		match := perfFrame.FindStringSubmatch(line)
		switch {
		case strings.TrimSpace(line) == "":
			leaf = true
		case leaf && match != nil:
			s.add(names.canonical(match[2], match[1]), base(match[2]), 1)
			leaf = false
		}
	}
	return s, lines.Err()
}

// base is the name of a module without its folder. perf calls the kernel
// [kernel.kallsyms] and code of an unnamed mapping by the file of its map.
func base(module string) string {
	switch {
	case strings.HasPrefix(module, "[kernel"):
		return "[kernel]"
	case strings.HasPrefix(module, "/tmp/perf-"), strings.HasPrefix(module, "[JIT]"), module == "//anon", module == "[anon]":
		return "[anon]"
	}
	return filepath.Base(module)
}
