//go:build integration && linux

package unwindtable

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
)

// Flags of code that is walked by table, and by frame pointer because nothing
// describes it.
var (
	byTable = []string{"-O2", "-fomit-frame-pointer"}
	byFrame = []string{"-O2", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables"}
)

// deep builds a program that recurses through two functions with flags of
// their own.
func deep(tb testing.TB, first, second []string) string {
	tb.Helper()
	dir := tb.TempDir()
	compile := func(out string, args ...string) {
		msg, err := exec.Command("gcc", append(args, "-o", filepath.Join(dir, out))...).CombinedOutput()
		require.NoError(tb, err, "%s", msg)
	}
	compile("a.o", append(first, "-c", "-DMAIN", "-DSELF=a", "-DOTHER=b", "testdata/deep.c")...)
	compile("b.o", append(second, "-c", "-DSELF=b", "-DOTHER=a", "testdata/deep.c")...)
	compile("deep", filepath.Join(dir, "a.o"), filepath.Join(dir, "b.o"))
	return filepath.Join(dir, "deep")
}

// target names a process for a sampler.
func target(tb testing.TB, pid int) bpf.Target {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(tb, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	ticks, err := strconv.ParseUint(fields[22-3], 10, 64)
	require.NoError(tb, err)
	return bpf.Target{PID: uint32(pid), StartTicks: ticks}
}

// profileProgram is the program of a sampler, of which there must be one.
func profileProgram(tb testing.TB, ours map[ebpf.ProgramID]bool) *ebpf.Program {
	tb.Helper()
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		if ours[id] {
			continue
		}
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue
		}
		if info, err := p.Info(); err == nil && info.Name == "profile" {
			return p
		}
		_ = p.Close()
	}
	tb.Fatal("the program of the sampler is not there")
	return nil
}

func programs() map[ebpf.ProgramID]bool {
	ids := map[ebpf.ProgramID]bool{}
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		ids[id] = true
	}
	return ids
}

// BenchmarkSample is what one sample costs in the kernel, by the way and the
// depth of the walk, warm: everything between the clock's interrupt and the
// count in the map. The kernel's run-time statistics, which give the figure,
// add some 50 ns.
func BenchmarkSample(b *testing.B) {
	for _, bm := range []struct {
		name          string
		first, second []string
		tables        bool
	}{
		{"frame pointer", byFrame, byFrame, false},
		{"table", byTable, byTable, true},
		{"mixed", byTable, byFrame, true},
	} {
		program := deep(b, bm.first, bm.second)
		for _, frames := range []int{11, 36, 66, 116} {
			b.Run(fmt.Sprintf("%s/frames=%d", bm.name, frames), func(b *testing.B) {
				sampleCost(b, []string{program, strconv.Itoa(frames - outer)}, 999, bm.tables)
			})
		}
	}
}

// BenchmarkPrograms is the same for interpreters without frame pointers, at the
// usual and at a high rate.
func BenchmarkPrograms(b *testing.B) {
	const workloads = "../../../examples/workloads/"
	for _, bm := range []struct {
		name string
		args []string
	}{
		{"python3", []string{"python3", workloads + "python_busy.py", "60"}},
		{"node", []string{"node", workloads + "node_busy.js", "60"}},
	} {
		for _, hertz := range []int{99, 999} {
			b.Run(fmt.Sprintf("%s/Hz=%d", bm.name, hertz), func(b *testing.B) {
				sampleCost(b, bm.args, hertz, true)
			})
		}
	}
}

// outer is how many frames lie outside of the recursion: main, two of libc,
// _start, and the innermost call.
const outer = 5

func sampleCost(b *testing.B, program []string, hertz int, withTables bool) {
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	require.NoError(b, err)
	defer stats.Close()
	// The program has the CPU to itself but for what the kernel leaves to others.
	cmd := exec.Command("chrt", append([]string{"-f", "10", "taskset", "-c", "1"}, program...)...)
	require.NoError(b, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	time.Sleep(200 * time.Millisecond)
	opts := bpf.Options{
		Frequency: hertz, DrainInterval: time.Second, FilterTargets: true,
		OnlineCPUs: func() ([]int, error) { return []int{1}, nil },
	}
	if withTables {
		m, tables := real(b, 1<<20, 1<<12)
		run(b, m)
		listening := make(chan struct{})
		go func() {
			defer close(listening)
			_ = m.Listen()
		}()
		defer func() {
			_ = tables.Close()
			<-listening
		}()
		opts.Tables = tables
	}
	before := programs()
	s, err := bpf.NewSampler(opts)
	require.NoError(b, err)
	defer s.Close()
	p := profileProgram(b, before)
	defer p.Close()
	require.NoError(b, s.SetTarget(target(b, cmd.Process.Pid), bpf.Keep))
	time.Sleep(time.Second) // tables, caches
	_, _, err = s.Drain()
	require.NoError(b, err)
	start, err := p.Stats()
	require.NoError(b, err)
	var kept, complete, taken, depth uint64
	for kept < uint64(max(b.N, hertz)) {
		time.Sleep(200 * time.Millisecond)
		samples, st, err := s.Drain()
		require.NoError(b, err)
		kept += st.Kept
		taken += st.Taken
		for i := range samples {
			depth += uint64(len(samples[i].User)) * samples[i].Count
			if samples[i].End.Complete() {
				complete += samples[i].Count
			}
		}
	}
	end, err := p.Stats()
	require.NoError(b, err)
	b.ReportMetric(float64(end.Runtime-start.Runtime)/float64(end.RunCount-start.RunCount), "ns/sample")
	b.ReportMetric(float64(depth)/float64(kept), "frames")
	b.ReportMetric(100*float64(complete)/float64(kept), "%complete")
	b.ReportMetric(100*float64(kept)/float64(taken), "%kept")
	b.ReportMetric(0, "ns/op")
}
