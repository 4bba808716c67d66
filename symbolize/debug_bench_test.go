package symbolize

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// BenchmarkInlines names 10,000 addresses of a C++ program with its inlined
// calls, and says how much longer addr2line takes for the same.
func BenchmarkInlines(b *testing.B) {
	dir := build(b, map[string]string{"a.cc": "#include <regex>\n#include <map>\n#include <string>\nint main(int n, char **v) { std::regex r(v[0]); std::smatch m; std::string t = v[1]; std::map<std::string, int> k; k[t]++; return std::regex_search(t, m, r) + k.size(); }\n"},
		"g++ -O2 -g -o prog a.cc")
	file := filepath.Join(dir, "prog")
	code := describeCode(b, file).code
	rng := rand.New(rand.NewPCG(1, 2))
	var ats []addr.Virtual
	var list strings.Builder
	for range 10_000 {
		at := code.Vaddr + rng.Uint64N(code.Filesz)
		ats = append(ats, addr.Virtual(at))
		fmt.Fprintf(&list, "%#x\n", at)
	}
	var held int64
	for b.Loop() {
		s := New(Options{})
		p, err := s.OpenFile(file)
		require.NoError(b, err)
		for _, at := range ats {
			one(s, p, at)
		}
		held = s.Stats().CacheBytes
		s.Close()
	}
	ours := b.Elapsed()
	cmd := exec.Command("addr2line", "-f", "-i", "-e", file)
	cmd.Stdin = strings.NewReader(list.String())
	require.NoError(b, cmd.Run())
	theirs := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	each := float64(ours.Nanoseconds()) / float64(b.N)
	b.ReportMetric(each/float64(len(ats)), "ns/address")
	b.ReportMetric(float64(held), "held-B")
	b.ReportMetric(float64(theirs.Nanoseconds())/each, "addr2line/ours")
}
