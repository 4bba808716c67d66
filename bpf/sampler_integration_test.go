//go:build integration && linux

package bpf

import (
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestBooksBalanceOnTheWholeHost(t *testing.T) {
	cmd := start(t, "/bin/sh", "-c", "while :; do :; done")
	s := sampler(t, Options{Frequency: 999})
	var ofSpinner uint64
	for range 5 {
		time.Sleep(200 * time.Millisecond)
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		requireBalanced(t, samples, stats)
		require.Zero(t, stats.Lost())
		require.NotZero(t, stats.CPUs)
		require.True(t, stats.To.After(stats.From))
		for i := range samples {
			if samples[i].PID == uint32(cmd.Process.Pid) {
				ofSpinner += samples[i].Count
				require.NotEmpty(t, samples[i].User)
				require.Equal(t, "sh", samples[i].ThreadName())
			}
		}
	}
	require.NotZero(t, ofSpinner)
}

// A sample stands for a fixed amount of CPU time: counts times period is the
// time that the process says it used.
func TestSamplesAddUpToCPUTime(t *testing.T) {
	cmd := start(t, "/bin/sh", "-c", "while :; do :; done")
	pid := cmd.Process.Pid
	const frequency = 997
	s := target(t, pid, Options{Frequency: frequency})
	_, _, err := s.Drain()
	require.NoError(t, err)
	before, stolen := cpuTime(t, pid), stolenTime(t)
	var kept uint64
	for range 40 {
		time.Sleep(100 * time.Millisecond)
		_, stats, err := s.Drain()
		require.NoError(t, err)
		kept += stats.Kept
	}
	used := cpuTime(t, pid) - before
	stolen = stolenSince(t, stolen)
	sampled := time.Duration(kept) * time.Second / frequency
	require.LessOrEqual(t, sampled, used+used/10)
	// Where a hypervisor takes time from the CPU, ticks are missed that the
	// kernel charges to the process all the same.
	require.GreaterOrEqual(t, sampled+stolen, used-used/10, "stolen %v", stolen)
}

// A CPU is idle in the code that is said to be, whoever runs it.
func TestIdleIsWhereCodeWaits(t *testing.T) {
	cmd := start(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "status=none")
	for name, tt := range map[string]struct {
		code      Range
		allKernel bool
	}{
		"everywhere in the kernel": {Range{1 << 63, math.MaxUint64}, true},
		"nowhere":                  {Range{1, 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sampler(t, Options{Frequency: 997, IdleRanges: func() []Range { return []Range{tt.code} }})
			var idle, inKernel uint64
			require.Eventually(t, func() bool {
				samples, stats, err := s.Drain()
				require.NoError(t, err)
				requireBalanced(t, samples, stats)
				idle += stats.Idle
				for i := range samples {
					if samples[i].PID == uint32(cmd.Process.Pid) && samples[i].Flags&KernelMode != 0 {
						inKernel += samples[i].Count
					}
				}
				if tt.allKernel {
					return idle > 100
				}
				return inKernel > 100
			}, patience, 50*time.Millisecond)
			if tt.allKernel {
				require.Zero(t, inKernel)
			} else {
				require.Zero(t, idle)
			}
		})
	}
}

// cpuTime is what /proc/PID/schedstat says: nanoseconds on a CPU.
func cpuTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/schedstat")
	require.NoError(t, err)
	var nanos int64
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		nanos = nanos*10 + int64(c-'0')
	}
	return time.Duration(nanos)
}

func TestDeepStacks(t *testing.T) {
	program := build(t, "deep")
	for _, depth := range []int{1, 30, 31, 32, 100, 127, 128, 500, 1000, 1020, 5000} {
		t.Run(strconv.Itoa(depth), func(t *testing.T) {
			cmd := start(t, program, strconv.Itoa(depth))
			s := target(t, cmd.Process.Pid, Options{Frequency: 997})
			deep := 0
			for _, sample := range collect(t, s, 50) {
				if sample.Flags&KernelMode != 0 || len(sample.User) < depth {
					continue // still on its way down
				}
				deep++
				require.Zero(t, sample.Flags&UserTruncated)
				// Every turn of the recursion returns to the same place.
				for i := 3; i <= depth; i++ {
					require.Equal(t, sample.User[2], sample.User[i], "frame %d", i)
				}
				if depth > 1 {
					require.NotEqual(t, sample.User[2], sample.User[depth+1], "main")
				}
			}
			if depth <= 1000 {
				require.NotZero(t, deep)
				return
			}
			samples := collect(t, s, 20)
			last := samples[len(samples)-1]
			if depth > MaxUserFrames {
				require.Len(t, last.User, MaxUserFrames)
				require.NotZero(t, last.Flags&UserTruncated)
			}
		})
	}
}

// What kernels before 5.17 get: stacks of up to 127 frames and a mark where
// they are cut.
func TestOlderKernels(t *testing.T) {
	program := build(t, "deep")
	none := func() (features, error) { return features{}, nil }
	cmd := start(t, program, "100")
	s := target(t, cmd.Process.Pid, Options{Frequency: 997, features: none})
	deepest := 0
	for _, sample := range collect(t, s, 100) {
		deepest = max(deepest, len(sample.User))
		require.Zero(t, sample.Flags&UserTruncated)
	}
	require.Greater(t, deepest, 100)

	deeper := start(t, program, "600")
	require.NoError(t, s.SetTarget(processOf(t, deeper.Process.Pid), Keep))
	reader := start(t, "dd", "if=/dev/zero", "of=/dev/null", "bs=1M")
	require.NoError(t, s.SetTarget(processOf(t, reader.Process.Pid), Keep))
	cut, inKernel := 0, 0
	for deadline := time.Now().Add(patience); (cut == 0 || inKernel == 0) && time.Now().Before(deadline); {
		for _, sample := range collect(t, s, 50) {
			if sample.PID == uint32(deeper.Process.Pid) && len(sample.User) == MaxLoopFrames {
				require.NotZero(t, sample.Flags&UserTruncated)
				cut++
			}
			if sample.PID == uint32(reader.Process.Pid) && len(sample.Kernel) > 0 && len(sample.User) > 0 {
				inKernel++
			}
		}
	}
	require.NotZero(t, cut)
	require.NotZero(t, inKernel, "user stacks below kernel stacks")
}

// However many paths there are, no stack is mixed up with another: every
// caller really calls its callee.
func TestManyDistinctStacks(t *testing.T) {
	program := build(t, "paths")
	levels := functionLevels(t, program)
	cmd := start(t, program)
	s := target(t, cmd.Process.Pid, Options{Frequency: 9999})
	distinct := make(map[string]bool)
	base := uint64(0)
	for _, sample := range collect(t, s, 8000) {
		if sample.Flags&KernelMode != 0 || len(sample.User) < 10 {
			continue // on its way, or in the loop of main
		}
		if base == 0 {
			base = loadBias(t, cmd.Process.Pid, program)
		}
		path := ""
		before := -1
		for i, pc := range sample.User {
			level, ok := levels.at(pc - base - min(uint64(i), 1))
			if !ok {
				require.True(t, i == 0 || before <= 1, "frame %d at %#x is in no function", i, pc)
				break // main
			}
			// The caller of a leaf that has not yet set up its frame is
			// skipped; all others are there.
			if i > 1 || (i == 1 && before != level+2) {
				require.Equal(t, before-1, level, "frame %d", i)
			}
			before = level
			if i > 0 {
				path += fmt.Sprintf(" %x", pc)
			}
		}
		distinct[path] = true
	}
	require.Greater(t, len(distinct), 2000)
}

// levelTable tells the level of left_N and right_N by file address.
type levelTable []struct {
	from, to uint64
	level    int
}

func (l levelTable) at(address uint64) (int, bool) {
	for _, f := range l {
		if address >= f.from && address < f.to {
			return f.level, true
		}
	}
	return 0, false
}

func functionLevels(t *testing.T, program string) levelTable {
	t.Helper()
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	var table levelTable
	for _, s := range symbols {
		for _, prefix := range []string{"left_", "right_"} {
			if len(s.Name) > len(prefix) && s.Name[:len(prefix)] == prefix {
				level, err := strconv.Atoi(s.Name[len(prefix):])
				require.NoError(t, err)
				table = append(table, struct {
					from, to uint64
					level    int
				}{s.Value, s.Value + s.Size, level})
			}
		}
	}
	require.Len(t, table, 36)
	return table
}

// loadBias of a position-independent program is where its first segment,
// whose file address is 0, was mapped.
func loadBias(t *testing.T, pid int, program string) uint64 {
	t.Helper()
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	require.NoError(t, err)
	var start uint64
	for _, c := range maps {
		digit, err := strconv.ParseUint(string(c), 16, 8)
		if err != nil {
			return start
		}
		start = start<<4 | digit
	}
	return start
}

func TestFullMapsAreCountedByCause(t *testing.T) {
	cmd := start(t, build(t, "paths"))
	s := target(t, cmd.Process.Pid, Options{Frequency: 9999, MapEntries: 64})
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		requireBalanced(t, samples, stats)
		if stats.LostStacksFull > 0 {
			require.InDelta(t, 1, stats.StacksUsed, 0.01)
			require.LessOrEqual(t, len(samples), 64)
			return
		}
	}
	t.Fatal("a map of 64 entries was never full")
}

func TestTargetsAndTheirChildrenOnly(t *testing.T) {
	start(t, "/bin/sh", "-c", "while :; do :; done")
	// A child that is started while we look, and its child in turn.
	parent := start(t, "/bin/sh", "-c", `while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done' & wait; done`)
	s := target(t, parent.Process.Pid, Options{Frequency: 997})
	children := make(map[uint32]bool)
	deadline := time.Now().Add(patience)
	for len(children) < 5 && time.Now().Before(deadline) {
		time.Sleep(100 * time.Millisecond)
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		requireBalanced(t, samples, stats)
		require.NotZero(t, stats.Filtered)
		for i := range samples {
			pid := samples[i].PID
			if pid != uint32(parent.Process.Pid) {
				children[pid] = true
			}
		}
	}
	require.GreaterOrEqual(t, len(children), 5)
	ended := processOf(t, parent.Process.Pid)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool {
		_, known := s.IsTarget(ended)
		return !known
	}, patience, 10*time.Millisecond, "what has ended is forgotten")
}

// A verdict is on one process, not on all that ever get its PID.
func TestLaterProcessWithThePIDOfATarget(t *testing.T) {
	cmd := start(t, "/bin/sh", "-c", "while :; do :; done")
	s := sampler(t, Options{Frequency: 997, FilterTargets: true})
	earlier := processOf(t, cmd.Process.Pid)
	earlier.StartTicks--
	require.NoError(t, s.SetTarget(earlier, Keep))
	_, known := s.IsTarget(processOf(t, cmd.Process.Pid))
	require.False(t, known)
	time.Sleep(300 * time.Millisecond)
	_, stats, err := s.Drain()
	require.NoError(t, err)
	require.Zero(t, stats.Kept)
	require.NotZero(t, stats.Filtered)
}

// What a process costs on its way out is part of its profile.
func TestExitOfATargetIsSampled(t *testing.T) {
	cmd := exec.Command(build(t, "exit"), "200") // MiB to give back
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	s := target(t, cmd.Process.Pid, Options{Frequency: 9999})
	_, _, err = s.Drain()
	require.NoError(t, err)
	require.NoError(t, in.Close()) // it exits now
	_, err = out.Read(make([]byte, 1))
	require.Error(t, err)
	exiting := 0
	for _, sample := range collect(t, s, 5) {
		if len(sample.User) == 0 || sample.Flags&KernelMode != 0 {
			exiting += int(sample.Count)
		}
	}
	require.GreaterOrEqual(t, exiting, 5)
}

// A verdict to drop is void after an exec: the process is another program.
func TestExecMakesAProcessUnknownAgain(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "read line; exec sleep 60")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := sampler(t, Options{Frequency: 99, FilterTargets: true, KeepUnknown: true})
	pid := processOf(t, cmd.Process.Pid)
	require.NoError(t, s.SetTarget(pid, Drop))
	keep, known := s.IsTarget(pid)
	require.True(t, known && !keep)
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, known := s.IsTarget(pid)
		return !known
	}, patience, 10*time.Millisecond)
}

// A CPU that comes online is sampled, and one that is gone is let go.
func TestFollowsCPUs(t *testing.T) {
	all, err := onlineCPUs()
	require.NoError(t, err)
	var online atomic.Pointer[[]int]
	first, none := all[:1], []int{}
	online.Store(&first)
	s := sampler(t, Options{Frequency: 499, OnlineCPUs: func() ([]int, error) { return *online.Load(), nil }})
	require.Len(t, s.clocks, 1)
	online.Store(&none)
	require.NoError(t, s.SyncCPUs())
	require.Empty(t, s.clocks)
	online.Store(&all)
	require.NoError(t, s.SyncCPUs())
	require.Len(t, s.clocks, len(all))
	online.Store(&first)
	require.NoError(t, s.SyncCPUs())
	require.Len(t, s.clocks, 1)
}

// The clock of a CPU that was away for a moment does not tick any more; it is
// replaced.
func TestRestartsAStoppedClock(t *testing.T) {
	s := sampler(t, Options{Frequency: 499})
	dead := s.clocks[0]
	require.NoError(t, unix.IoctlSetInt(dead.fd, unix.PERF_EVENT_IOC_DISABLE, 0))
	require.Eventually(t, func() bool {
		_, _, err := s.Drain()
		require.NoError(t, err)
		return s.clocks[0] != dead
	}, patience, 200*time.Millisecond)
}

// The ticks of an idle CPU may be left out, which is no reason to replace its clock.
func TestClockWithoutTicksIsKept(t *testing.T) {
	s := sampler(t, Options{Frequency: 1})
	s.mu.Lock()
	defer s.mu.Unlock()
	none := make([]uint64, 1<<10)
	for range 3 {
		restarted, err := s.restartStopped(none, time.Hour)
		require.NoError(t, err)
		require.Empty(t, restarted)
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, unix.IoctlSetInt(s.clocks[0].fd, unix.PERF_EVENT_IOC_DISABLE, 0))
	_, err := s.restartStopped(none, time.Hour)
	require.NoError(t, err)
	restarted, err := s.restartStopped(none, time.Hour)
	require.NoError(t, err)
	require.Equal(t, []int{0}, restarted)
}

func TestCloseReleasesEverything(t *testing.T) {
	var all []ebpf.ProgramID
	for range 5 {
		s, err := NewSampler(Options{Frequency: 99, DrainInterval: time.Second, FilterTargets: true})
		require.NoError(t, err)
		for _, p := range s.objects.programs.Programs {
			all = append(all, idOf(t, p))
		}
		for _, p := range s.objects.targets.Programs {
			all = append(all, idOf(t, p))
		}
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		_, _, err = s.Drain()
		require.ErrorContains(t, err, "closed")
	}
	require.GreaterOrEqual(t, len(all), 2*5)
	for _, id := range all {
		require.Eventually(t, func() bool { return gone(t, id) }, time.Minute, 10*time.Millisecond)
	}
}

func idOf(t *testing.T, p *ebpf.Program) ebpf.ProgramID {
	t.Helper()
	info, err := p.Info()
	require.NoError(t, err)
	id, ok := info.ID()
	require.True(t, ok)
	return id
}

// gone tells whether the kernel has freed a program.
func gone(t *testing.T, id ebpf.ProgramID) bool {
	p, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	require.NoError(t, err)
	require.NoError(t, p.Close())
	return false
}

// Without privileges the error says which are missing. The test runs itself
// again as nobody.
func TestUnprivilegedErrorNamesCapabilities(t *testing.T) {
	if os.Getenv("FLAMETEL_TEST_UNPRIVILEGED") != "" {
		_, err := NewSampler(Options{Frequency: 99, DrainInterval: time.Second})
		var privilege *PrivilegeError
		require.ErrorAs(t, err, &privilege)
		require.Equal(t, []string{"CAP_BPF", "CAP_PERFMON"}, privilege.Missing)
		require.NotContains(t, err.Error(), "MEMLOCK")
		require.ErrorAs(t, CheckPrivileges(), &privilege)
		return
	}
	// The program lies in a folder that nobody may enter, so it is handed over open.
	f, err := os.Open("/proc/self/exe")
	require.NoError(t, err)
	defer f.Close()
	cmd := exec.Command("/proc/self/fd/3", "-test.run", "^TestUnprivilegedErrorNamesCapabilities$")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "FLAMETEL_TEST_UNPRIVILEGED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
