//go:build integration

package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/internal/fixture"
	"github.com/flametel/flametel/symbolize/procmap"
)

const busyCPP = `
#include <ctime>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
int main() {
	long x = 0;
	std::regex r("([a-z]+)=([0-9]+)");
	while (clock() < 4 * CLOCKS_PER_SEC) { // CPU time, however busy the machine is
		std::map<std::string, int> m;
		for (int i = 0; i < 200; i++) m[std::to_string(i * 7 % 50)] += i;
		std::smatch s;
		std::string t = "abc=123";
		if (std::regex_search(t, s, r)) x += s.size() + m.size();
	}
	printf("%ld\n", x);
}
`

var perfMmap = regexp.MustCompile(`PERF_RECORD_MMAP2 \d+/\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) ([0-9a-f]+):([0-9a-f]+) (\d+) \d+\]: r-xp (.*)$`)

// TestOraclePerf names the samples that perf took of a program, in the program,
// its libraries and the kernel, and compares with what perf script prints.
func TestOraclePerf(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": busyCPP}, "g++ -O2 -g -o busy a.cc")
	data := filepath.Join(dir, "perf.data")
	out, err := exec.Command("perf", "record", "-q", "-N", "-e", "cpu-clock", "-F", "5000", "-o", data, "--", filepath.Join(dir, "busy")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command("perf", "script", "-i", data, "-F", "ip,sym,dso", "--no-demangle", "--show-mmap-events").Output()
	require.NoError(t, err)
	s := newPatient(Options{Demangle: demangle.None})
	t.Cleanup(s.Close)
	var mapped []Mapped
	known := map[string][]symbolRange{}
	a := agreement{t: t, what: "perf script"}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if m := perfMmap.FindStringSubmatch(line); m != nil {
			mapped = append(mapped, perfMapping(t, s, m))
			slices.SortFunc(mapped, func(a, b Mapped) int { return int(int64(a.Start) - int64(b.Start)) })
			continue
		}
		m := perfSample.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(m[2], "bpf_prog_") {
			continue // programs of other tests come and go
		}
		at, err := strconv.ParseUint(m[1], 16, 64)
		require.NoError(t, err)
		var f *Frame
		if at >= 1<<63 {
			f = s.Kernel([]addr.Virtual{addr.Virtual(at)}, nil)[0]
		} else {
			f = one(s, NewProcess(0, 0).With(mapped), addr.Virtual(at))
		}
		want, _, _ := strings.Cut(m[2], "@")
		got, _, _ := strings.Cut(outermost(f), "@")
		a.add(got == want || want == "[unknown]" && (got == "" || got == "[plt]") || aliasOf(t, known, f, got, want), "%#x in %s is %q, not %q", at, m[3], outermost(f), m[2])
	}
	a.end()
}

func perfMapping(t *testing.T, s *Symbolizer, m []string) Mapped {
	t.Helper()
	number := func(i int) uint64 {
		v, err := strconv.ParseUint(m[i], 0, 64)
		require.NoError(t, err)
		return v
	}
	start, size := number(1), number(2)
	pm := procmap.Mapping{Start: addr.Virtual(start), Limit: addr.Virtual(start + size), Offset: addr.Offset(number(3)), Path: m[7], Executable: true}
	if info, err := os.Stat(m[7]); err == nil {
		pm.Inode = inodeOf(info)
		pm.Dev = deviceOf(info)
	}
	return Mapped{Mapping: pm, Object: s.Open(os.Getpid(), pm)}
}

// aliasOf tells whether two names stand at the same place of a file: which of
// them is shown is a matter of taste.
func aliasOf(t *testing.T, known map[string][]symbolRange, f *Frame, got, want string) bool {
	t.Helper()
	file := f.Module.Path
	if got == "" || !strings.HasPrefix(file, "/") {
		return false
	}
	if known[file] == nil {
		known[file] = functionsOf(t, file, "dyn-syms")
		if strings.Contains(file, "libc.so") || strings.Contains(file, "ld-linux") {
			known[file] = functionsOf(t, debugFileOf(t, file), "symbols")
		}
	}
	names := named(known[file], uint64(f.Address))
	return slices.Contains(names, got) && slices.Contains(names, want)
}

// TestOraclePerfEverywhere compares what perf script calls 10,000 addresses of
// the code of each file. Names that stand at the same place count as equal, and
// so does no name for the constants that node has among its code.
func TestOraclePerfEverywhere(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": cppSource, "a.go": goSource},
		"g++ -O2 -g -o cpp a.cc", "go build -o go a.go", "go build -ldflags=-w -o gow a.go", "go build -ldflags=-s -o gos a.go")
	libc, err := filepath.EvalSymlinks("/lib/x86_64-linux-gnu/libc.so.6")
	require.NoError(t, err)
	for _, c := range []struct{ ours, perfs, aliases, tables string }{
		{libc, libc, debugFileOf(t, libc), "symbols"},
		{"/usr/bin/python3.11", "/usr/bin/python3.11", "/usr/bin/python3.11", "dyn-syms"},
		{"/usr/bin/node", "/usr/bin/node", "/usr/bin/node", "symbols"},
		{filepath.Join(dir, "cpp"), filepath.Join(dir, "cpp"), filepath.Join(dir, "cpp"), "symbols"},
		{filepath.Join(dir, "go"), filepath.Join(dir, "go"), filepath.Join(dir, "go"), "symbols"},
		{filepath.Join(dir, "gow"), filepath.Join(dir, "gow"), filepath.Join(dir, "gow"), "symbols"},
		// perf knows nothing of a program without symbols; the code is the same.
		{filepath.Join(dir, "gos"), filepath.Join(dir, "go"), filepath.Join(dir, "go"), "symbols"},
	} {
		ats := sampled(t, c.ours)
		wants, _ := perfNames(t, c.perfs, ats)
		list, constants := functionsOf(t, c.aliases, c.tables), symbolsOf(t, c.aliases, c.tables, "OBJECT")
		a := agreement{t: t, what: "perf script of " + c.ours}
		for i, f := range framesOf(t, c.ours, ats) {
			got, want := plain(outermost(f)), plain(wants[i])
			names := named(list, uint64(ats[i]))
			alias := slices.Contains(names, got) && slices.Contains(names, want)
			a.add(got == want || alias || got == "" && slices.Contains(named(constants, uint64(ats[i])), want), "%#x is %q, not %q", ats[i], got, want)
		}
		a.end()
	}
}

// plain leaves out of a name the version that glibc gives symbols and the mark
// of the calling convention that Go gives them.
func plain(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return strings.TrimSuffix(name, ".abi0")
}
