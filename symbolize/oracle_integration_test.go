//go:build integration

package symbolize

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const (
	oracleAddresses = 10_000
	// oracleAgreement is the least part of the addresses on which other tools
	// must agree; docs/symbols.md says why some do not.
	oracleAgreement = 0.995
)

// symbolRange is a function of a symbol table.
type symbolRange struct {
	start, limit uint64
	names        []string
}

// functionsOf lists functions with a size as readelf prints them, sorted; those
// at the same place are one with several names. Tables are "symbols" or
// "dyn-syms".
func functionsOf(t *testing.T, file, tables string) []symbolRange {
	t.Helper()
	return symbolsOf(t, file, tables, "FUNC", "NOTYPE", "IFUNC")
}

// symbolsOf is functionsOf for symbols of other types.
func symbolsOf(t *testing.T, file, tables string, types ...string) []symbolRange {
	t.Helper()
	out, err := exec.Command("readelf", "-W", "--"+tables, file).Output()
	require.NoError(t, err)
	type key struct{ start, size uint64 }
	all := map[key][]string{}
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) < 8 || !slices.Contains(types, w[3]) || w[6] == "UND" || w[6] == "ABS" {
			continue
		}
		start, err1 := strconv.ParseUint(w[1], 16, 64)
		size, err2 := strconv.ParseUint(w[2], 0, 64)
		if err1 != nil || err2 != nil || size == 0 {
			continue
		}
		name, _, _ := strings.Cut(w[7], "@")
		all[key{start, size}] = append(all[key{start, size}], name)
	}
	var list []symbolRange
	for k, names := range all {
		list = append(list, symbolRange{k.start, k.start + k.size, names})
	}
	slices.SortFunc(list, func(a, b symbolRange) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.limit, b.limit))
	})
	return list
}

// named returns what covers an address and starts last.
func named(list []symbolRange, at uint64) []string {
	i, found := slices.BinarySearchFunc(list, at+1, func(r symbolRange, v uint64) int { return cmp.Compare(r.start, v) })
	_ = found
	for n := i - 1; n >= max(0, i-50); n-- {
		if at < list[n].limit {
			var names []string
			for m := n; m >= 0 && list[m].start == list[n].start; m-- {
				names = append(names, list[m].names...)
			}
			return names
		}
	}
	return nil
}

// sampled picks addresses in the .text of a file, the same each time.
func sampled(t *testing.T, file string) []addr.File {
	t.Helper()
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	text := f.Section(".text")
	require.NotNil(t, text)
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[addr.File]bool{}
	for len(seen) < oracleAddresses {
		seen[addr.File(text.Addr+rng.Uint64N(text.Size))] = true
	}
	list := make([]addr.File, 0, len(seen))
	for a := range seen {
		list = append(list, a)
	}
	slices.Sort(list)
	return list
}

// framesOf names file addresses.
func framesOf(t *testing.T, file string, ats []addr.File) []*Frame {
	t.Helper()
	s := newPatient(Options{Demangle: demangle.None})
	t.Cleanup(s.Close)
	p, err := s.OpenFile(file)
	require.NoError(t, err)
	frames := make([]*Frame, len(ats))
	for i, a := range ats {
		frames[i] = one(s, p, addr.Virtual(a))
		require.Equal(t, a, frames[i].Address)
	}
	return frames
}

func outermost(f *Frame) string {
	if len(f.Lines) == 0 {
		return ""
	}
	l := f.Lines[len(f.Lines)-1]
	return cmp.Or(l.SystemName, l.Name)
}

// agreement counts agreement and shows some of the rest.
type agreement struct {
	t         *testing.T
	what      string
	good, all int
}

func (a *agreement) add(good bool, format string, args ...any) {
	a.all++
	if good {
		a.good++
	} else if a.all-a.good <= 12 {
		a.t.Logf("%s: %s", a.what, fmt.Sprintf(format, args...))
	}
}

func (a *agreement) end() {
	a.t.Helper()
	rate := float64(a.good) / float64(a.all)
	a.t.Logf("%s: %d of %d agree, %.2f %%", a.what, a.good, a.all, 100*rate)
	assert.GreaterOrEqual(a.t, a.all, oracleAddresses)
	assert.GreaterOrEqual(a.t, rate, oracleAgreement)
}

func TestOracleReadelf(t *testing.T) {
	t.Parallel()
	libc, err := filepath.EvalSymlinks("/lib/x86_64-linux-gnu/libc.so.6")
	require.NoError(t, err)
	for file, from := range map[string][2]string{
		libc:                  {debugFileOf(t, libc), "symbols"},
		"/usr/bin/python3.11": {"/usr/bin/python3.11", "dyn-syms"},
		"/usr/bin/node":       {"/usr/bin/node", "symbols"},
	} {
		list := functionsOf(t, from[0], from[1])
		ats := sampled(t, file)
		a := agreement{t: t, what: "readelf of " + file}
		for i, f := range framesOf(t, file, ats) {
			want, got := named(list, uint64(ats[i])), outermost(f)
			a.add(len(want) == 0 && got == "" || slices.Contains(want, got), "%#x is %q, not one of %q", ats[i], got, want)
		}
		a.end()
	}
}

// debugFileOf returns the debug file of a program by its build ID.
func debugFileOf(t *testing.T, file string) string {
	t.Helper()
	id := hex.EncodeToString(describeCode(t, file).buildID)
	name := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
	_, err := os.Stat(name)
	require.NoError(t, err)
	return name
}

const cppSource = `
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
#include <sstream>
#include <iostream>
#include <functional>
int main(int argc, char **argv) {
	std::map<std::string, std::vector<int>> m;
	for (int i = 0; i < argc * 100; i++) m[std::to_string(i % 10)].push_back(i * 7 % 13);
	for (auto &e : m) std::sort(e.second.begin(), e.second.end(), std::greater<int>());
	std::regex r("([a-z]+)=([0-9]+)");
	std::smatch match;
	std::string text = argc > 1 ? argv[1] : "a=1";
	std::stringstream out;
	if (std::regex_search(text, match, r)) out << match[1] << m["1"].size();
	std::cout << out.str() << std::endl;
}
`

func TestOracleAddr2line(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": cppSource}, "g++ -O2 -g -o cpp a.cc", "g++ -O2 -g -gdwarf-4 -gz -o cpp4 a.cc")
	libc, err := filepath.EvalSymlinks("/lib/x86_64-linux-gnu/libc.so.6")
	require.NoError(t, err)
	for file, debug := range map[string]string{
		filepath.Join(dir, "cpp"):  filepath.Join(dir, "cpp"),
		filepath.Join(dir, "cpp4"): filepath.Join(dir, "cpp4"),
		libc:                       debugFileOf(t, libc),
	} {
		ats := sampled(t, file)
		list := functionsOf(t, debug, "symbols")
		frames := framesOf(t, file, ats)
		for _, oracle := range []string{"addr2line", "llvm-addr2line-14"} {
			want := linesBy(t, oracle, debug, ats...)
			// Of functions that come from an included file, binutils print the
			// file that includes it: only lines are compared there.
			files := oracle != "addr2line" || file != libc
			a := agreement{t: t, what: oracle + " of " + file}
			for i, f := range frames {
				got := printed(f)
				a.add(sameAs(got, want[i], named(list, uint64(ats[i])), files), "%#x is %q, not %q", ats[i], got, want[i])
			}
			a.end()
		}
	}
}

// sameAs compares two stacks of inlined calls. The real function may have
// another of the names that are at its place.
func sameAs(got, want, aliases []string, files bool) bool {
	if len(got) == 0 {
		return len(aliases) == 0 || strings.HasPrefix(want[0], "?? ")
	}
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		name, place, _ := strings.Cut(got[i], " at ")
		wantName, wantPlace, _ := strings.Cut(want[i], " at ")
		if !samePlace(place, wantPlace, files) || name != wantName && (i < len(got)-1 || !slices.Contains(aliases, name)) {
			return false
		}
	}
	return true
}

// samePlace compares places. addr2line joins folders that were mapped to
// relative ones twice, and where there is no debug information it takes the
// name of a source file, without line, from the symbol table.
func samePlace(got, want string, files bool) bool {
	if !files && got[strings.LastIndexByte(got, ':'):] == want[strings.LastIndexByte(want, ':'):] {
		return true
	}
	return path.Base(got) == path.Base(want) || got == "??:?" && (strings.HasSuffix(want, ":?") || strings.HasSuffix(want, ":0"))
}

func TestOracleGo(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.go": goSource}, "go build -o whole a.go", "go build -ldflags=-s -o stripped a.go")
	ats := sampled(t, filepath.Join(dir, "whole"))
	cmd := exec.Command("go", "tool", "addr2line", filepath.Join(dir, "whole"))
	var in bytes.Buffer
	for _, a := range ats {
		fmt.Fprintf(&in, "%#x\n", uint64(a))
	}
	cmd.Stdin = &in
	out, err := cmd.Output()
	require.NoError(t, err)
	told := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, told, 2*len(ats))
	for _, file := range []string{"whole", "stripped"} {
		a := agreement{t: t, what: "go tool addr2line of a program, " + file}
		for i, f := range framesOf(t, filepath.Join(dir, file), ats) {
			name, place := strings.TrimSuffix(told[2*i], ".abi0"), told[2*i+1]
			got, at := strings.TrimSuffix(outermost(f), ".abi0"), "?:0"
			if len(f.Lines) > 0 && f.Lines[0].File != "" {
				at = f.Lines[0].File + ":" + strconv.FormatInt(f.Lines[0].Line, 10)
			}
			a.add(got == name && at == place || got == "" && (name == "?" || strings.HasSuffix(place, ":-1")), "%#x is %s at %s, not %s at %s", ats[i], got, at, name, place)
		}
		a.end()
	}
}
