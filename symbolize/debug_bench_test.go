package symbolize

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// BenchmarkBesideOthers names 10,000 addresses of a file, which it opens, and
// says how much more CPU time perf script and addr2line -f -i take for the same
// addresses in the same run. Of the C++ program all of its inlined calls and
// lines are read, which perf does not.
func BenchmarkBesideOthers(b *testing.B) {
	dir := fixture.Build(b, map[string]string{"a.cc": regexSource}, "g++ -O2 -g -o cpp a.cc")
	for _, file := range []string{llvmPath, "/usr/bin/node", "/usr/bin/python3.11", filepath.Join(dir, "cpp")} {
		b.Run(filepath.Base(file), func(b *testing.B) {
			if _, err := os.Stat(file); err != nil {
				b.Fatal(err)
			}
			ats := spread(b, file, 10_000)
			var held int64
			before := cpuTime(b)
			for b.Loop() {
				held = nameFile(b, file, ats)
			}
			ours := (cpuTime(b) - before) / time.Duration(b.N)
			_, perf := perfNames(b, file, ats)
			theirs := addr2lineTime(b, file, ats)
			b.ReportMetric(float64(ours.Nanoseconds())/float64(len(ats)), "cpu-ns/address")
			b.ReportMetric(float64(held), "held-B")
			b.ReportMetric(perf.Seconds()/ours.Seconds(), "perf/ours")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "addr2line/ours")
		})
	}
}

// spread picks addresses of the code of a file, sorted and the same each time.
func spread(b *testing.B, file string, n int) []addr.File {
	b.Helper()
	code := describeCode(b, file).code
	for _, c := range codeOf(b, file) {
		if c.Filesz > code.Filesz {
			code = c
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	ats := make([]addr.File, n)
	for i := range ats {
		ats[i] = addr.File(code.Vaddr + rng.Uint64N(code.Filesz))
	}
	slices.Sort(ats)
	return ats
}

// nameFile opens a file, names addresses and returns what is held then.
func nameFile(b *testing.B, file string, ats []addr.File) int64 {
	b.Helper()
	s := newPatient(Options{})
	defer s.Close()
	p, err := s.OpenFile(file)
	require.NoError(b, err)
	for _, at := range ats {
		one(s, p, addr.Virtual(at))
	}
	return s.Stats().CacheBytes
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func addr2lineTime(b *testing.B, file string, ats []addr.File) time.Duration {
	b.Helper()
	var list strings.Builder
	for _, at := range ats {
		fmt.Fprintf(&list, "%#x\n", uint64(at))
	}
	cmd := exec.Command("addr2line", "-f", "-i", "-e", file)
	cmd.Stdin = strings.NewReader(list.String())
	require.NoError(b, cmd.Run())
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
