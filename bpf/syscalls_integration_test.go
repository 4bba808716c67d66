//go:build integration && linux

package bpf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// byCall adds samples up by number and error, those that were selected apart.
func byCall(list []Sample) (calls, selected map[[2]uint64]uint64) {
	calls, selected = make(map[[2]uint64]uint64), make(map[[2]uint64]uint64)
	for _, s := range list {
		key := [2]uint64{uint64(uint32(s.Detail)), s.Detail >> SyscallErrnoShift & SyscallErrnoMask}
		if s.Flags&Selected != 0 {
			selected[key] += s.Count
		} else {
			calls[key] += s.Count
		}
	}
	return calls, selected
}

// syscallsOf drains and returns copies of the samples of one process.
func syscallsOf(t *testing.T, tr *Tracer, pid int) (list []Sample, stats Stats) {
	t.Helper()
	samples, stats, err := tr.Drain()
	require.NoError(t, err)
	var kept uint64
	for _, s := range samples {
		if s.Flags&Selected == 0 {
			kept += s.Count
		}
		if int(s.PID) == pid {
			s.User = append([]uint64(nil), s.User...)
			list = append(list, s)
		}
	}
	require.Equal(t, stats.Kept, kept)
	require.Equal(t, stats.Taken, stats.Kept+stats.Filtered+stats.Lost(), "%+v", stats)
	require.Zero(t, stats.Lost())
	return list, stats
}

var wantCalls = map[[2]uint64]uint64{
	{unix.SYS_NEWFSTATAT, 0}:                   9000,
	{unix.SYS_NEWFSTATAT, uint64(unix.ENOENT)}: 1000,
	{unix.SYS_GETPPID, 0}:                      5000,
	{9999, uint64(unix.ENOSYS)}:                7,
	{unix.SYS_CLOCK_NANOSLEEP, 0}:              5,
	{unix.SYS_CLONE, 0}:                        20,
	{unix.SYS_WAIT4, 0}:                        20,
}

func TestSyscallsAreExact(t *testing.T) {
	for name, interval := range map[string]time.Duration{"every stack": 0, "some stacks": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			f := startFixture(t, "calls")
			tr := tracer(t, Syscalls(SyscallOptions{LookInterval: interval}), f.pid())
			syscallsOf(t, tr, f.pid())
			f.do(t)
			list, _ := syscallsOf(t, tr, f.pid())
			calls, selected := byCall(list)
			for call, n := range wantCalls {
				require.Equal(t, n, calls[call], "call %v", call)
				if interval > 0 && call[0] != unix.SYS_CLOCK_NANOSLEEP {
					require.NotZero(t, selected[call], "a stack of call %v", call)
				}
			}
			var slept uint64
			for _, s := range list {
				if uint32(s.Detail) == unix.SYS_CLOCK_NANOSLEEP {
					require.NotEmpty(t, s.User)
					slept += s.Sums[0]
				}
				if s.Flags&Total == 0 {
					require.NotEmpty(t, s.User, "%+v", s)
				}
			}
			require.GreaterOrEqual(t, slept, uint64(150*time.Millisecond))
			require.Less(t, slept, uint64(5*time.Second))
		})
	}
}

// The children of the program end in a call that does not return.
func TestSyscallsThatDoNotReturn(t *testing.T) {
	f := startFixture(t, "calls")
	tr := tracer(t, Syscalls(SyscallOptions{LookInterval: time.Millisecond}), f.pid())
	began := time.Now()
	f.do(t)
	samples, _, err := tr.Drain()
	require.NoError(t, err)
	ended := uint64(0)
	for _, s := range samples {
		require.Less(t, s.Sums[0]/max(s.Count, 1), uint64(time.Since(began))*100, "no call takes longer than the test")
		if s.Detail&SyscallNoReturn != 0 {
			require.EqualValues(t, unix.SYS_EXIT_GROUP, uint32(s.Detail))
			ended += s.Count
		}
	}
	require.EqualValues(t, 20, ended)
}

func TestSyscallsByName(t *testing.T) {
	f := startFixture(t, "calls")
	tr := tracer(t, Syscalls(SyscallOptions{Numbers: []uint32{unix.SYS_GETPPID}, LookInterval: time.Millisecond}), f.pid())
	f.do(t)
	list, _ := syscallsOf(t, tr, f.pid())
	calls, _ := byCall(list)
	require.Equal(t, map[[2]uint64]uint64{{unix.SYS_GETPPID, 0}: 5000}, calls)
}

// What begins while nothing is attached, or ends then, is not counted, and never
// with the time in between.
func TestSyscallsAcrossDetaching(t *testing.T) {
	f := startFixture(t, "sleeps", "1", "300000")
	tr := tracer(t, Syscalls(SyscallOptions{}), f.pid())
	done := make(chan uint64)
	began := time.Now()
	go func() { done <- f.do(t) }()
	time.Sleep(100 * time.Millisecond)
	tr.Detach() // in the sleep
	longest := time.Since(began)
	<-done
	f.rest(t)
	time.Sleep(2 * time.Second) // it waits for its next line
	began = time.Now()
	require.NoError(t, tr.Attach())
	f.do(t)
	list, _ := syscallsOf(t, tr, f.pid())
	longest = max(longest, time.Since(began))
	for _, s := range list {
		require.Less(t, s.Sums[0], s.Count*uint64(longest), "call %d", uint32(s.Detail))
	}
}

func TestLengthsOfCalls(t *testing.T) {
	f := startFixture(t, "calls")
	tr, err := NewTracer(Syscalls(SyscallOptions{LookInterval: time.Millisecond}), Options{DrainInterval: time.Second, FilterTargets: true, ByDuration: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	require.NoError(t, tr.SetTarget(processOf(t, f.pid()), Keep))
	f.do(t)
	list, _ := syscallsOf(t, tr, f.pid())
	var stats uint64
	for _, s := range list {
		if s.Flags&Selected != 0 || s.Detail&SyscallNoReturn != 0 {
			continue
		}
		require.Positive(t, s.Length())
		require.GreaterOrEqual(t, s.Sums[0], s.Count<<(s.Length()-1))
		require.Less(t, s.Sums[0], s.Count<<s.Length())
		if uint32(s.Detail) == unix.SYS_NEWFSTATAT {
			stats += s.Count
		}
	}
	require.EqualValues(t, 10000, stats)
}

// What ends in another way than others leaves nothing behind, and no call seems
// to take longer than it can have.
func TestSyscallsThatEndOtherwise(t *testing.T) {
	f := startFixture(t, "odd")
	tr := tracer(t, Syscalls(SyscallOptions{LookInterval: time.Millisecond}), f.pid())
	began := time.Now()
	f.do(t)
	samples, stats, err := tr.Drain()
	require.NoError(t, err)
	require.Zero(t, stats.Lost())
	took := uint64(time.Since(began))
	counts := make(map[uint32]uint64)
	for _, s := range samples {
		if s.Flags&Selected != 0 {
			continue
		}
		counts[uint32(s.Detail)] += s.Count
		require.LessOrEqual(t, s.Sums[0], s.Count*took, "call %d", uint32(s.Detail))
	}
	require.EqualValues(t, 100, counts[unix.SYS_GETUID])
	require.Zero(t, counts[unix.SYS_GETPPID], "seccomp refuses calls before they are traced")
	require.NotContains(t, counts, ^uint32(0), "the number is that of the begin")
	require.GreaterOrEqual(t, counts[unix.SYS_EXECVE], uint64(1))
	// Nothing stays in the map of calls but those under way: one or two.
	inCall := 0
	var key uint32
	var value syscallsFtCall
	for entries := tr.objects.programs.Maps[syscallsMapCalls].Iterate(); entries.Next(&key, &value); {
		if value.EnterNs != 0 {
			inCall++
		}
	}
	require.LessOrEqual(t, inCall, 2)
}
