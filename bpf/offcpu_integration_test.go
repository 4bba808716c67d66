//go:build integration && linux

package bpf

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// inCall picks the waits in one system call.
func inCall(list []Sample, nr int) (out []Sample) {
	for _, s := range list {
		if s.Detail&OffCPUInCall != 0 && int(uint32(s.Detail)) == nr {
			out = append(out, s)
		}
	}
	return out
}

func TestOffCPUCountsEveryWait(t *testing.T) {
	f := startFixture(t, "sleeps", "1000", "1500")
	tr := tracer(t, OffCPU(OffCPUOptions{}), f.pid())
	f.rest(t)
	blockedBefore, preemptedBefore := switches(t, f.pid())
	drainOf(t, tr, f.pid())
	took := f.do(t)
	f.rest(t)
	blockedAfter, preemptedAfter := switches(t, f.pid())
	list, stats := drainOf(t, tr, f.pid())
	require.Zero(t, stats.Lost(), "%+v", stats)
	var blocked, preempted, late uint64
	for _, s := range list {
		require.NotEmpty(t, s.User)
		if len(s.Kernel) == 0 {
			late += s.Sums[1]
		}
		if s.Detail&OffCPUPreempted == 0 {
			blocked += s.Sums[1]
		} else {
			preempted += s.Sums[1]
		}
	}
	require.Equal(t, preemptedAfter-preemptedBefore, preempted)
	require.Equal(t, blockedAfter-blockedBefore, blocked, "waits that block")
	// Some systems hide their own tasks, and so that another comes after one.
	require.Less(t, late, uint64(50))
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, took, sums[0], 0.05, "nanoseconds against the program's clock")
}

// switches returns the kernel's own count of the switches away from a thread.
func switches(t *testing.T, pid int) (voluntary, involuntary uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		fmt.Sscanf(line, "voluntary_ctxt_switches: %d", &voluntary)
		fmt.Sscanf(line, "nonvoluntary_ctxt_switches: %d", &involuntary)
	}
	return voluntary, involuntary
}

// A wait is counted in each interval that it reaches into, as one wait.
func TestOffCPUCountsWaitsThatAreNotOver(t *testing.T) {
	f := startFixture(t, "sleeps", "1", "3000000")
	tr := tracer(t, OffCPU(OffCPUOptions{}), f.pid())
	done := make(chan uint64)
	go func() { done <- f.do(t) }()
	var all []Sample
	var took uint64
	intervals, withStack := 0, 0
	for took == 0 {
		select {
		case took = <-done:
		case <-time.After(200 * time.Millisecond):
		}
		list, stats := drainOf(t, tr, f.pid())
		require.Zero(t, stats.Lost(), "%+v", stats)
		nap := inCall(list, unix.SYS_CLOCK_NANOSLEEP)
		if len(nap) > 0 {
			intervals++
			if len(nap[0].User) > 0 {
				withStack++
			}
		}
		all = append(all, nap...)
	}
	require.GreaterOrEqual(t, intervals, 2)
	require.GreaterOrEqual(t, withStack, intervals-1)
	_, sums := total(all)
	require.EqualValues(t, 1, sums[1], "waits")
	require.InEpsilon(t, took, sums[0], 0.05)
	for _, s := range all {
		require.Equal(t, all[0].User, s.User)
	}
}

func TestOffCPULeavesShortWaitsOut(t *testing.T) {
	f := startFixture(t, "sleeps", "50", "1000")
	tr := tracer(t, OffCPU(OffCPUOptions{MinDuration: 500 * time.Millisecond}), f.pid())
	drainOf(t, tr, f.pid())
	f.do(t)
	list, stats := drainOf(t, tr, f.pid())
	require.Empty(t, inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.GreaterOrEqual(t, stats.Filtered, uint64(50))
}

// mostLooks is how many waits may be looked at in a time: rate.h chooses one in
// each interval, up to twice as many where waits are nearly as long, and knows
// nothing of the first ones.
func mostLooks(nanos uint64, interval time.Duration) uint64 {
	return 2*nanos/uint64(interval) + 300
}

// Stacks of some waits stand for all: neither number nor time is biased.
func TestOffCPULooksAtSomeWaits(t *testing.T) {
	f := startFixture(t, "sleeps", "20000", "1")
	tr := tracer(t, OffCPU(OffCPUOptions{LookInterval: time.Millisecond}), f.pid())
	drainOf(t, tr, f.pid())
	ran := cpuTime(t, f.pid())
	took := f.do(t)
	f.rest(t)
	ran = cpuTime(t, f.pid()) - ran
	list, stats := drainOf(t, tr, f.pid())
	require.Zero(t, stats.Lost(), "%+v", stats)
	require.LessOrEqual(t, stats.Kept, mostLooks(took, time.Millisecond))
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, 20000, sums[1], 0.15)
	// On a busy host some waits are far longer than the rest.
	require.InEpsilon(t, took-uint64(ran), sums[0], 0.4)
}

// One long wait among many short ones is always there, whatever is looked at.
func TestOffCPUKeepsRareLongWaits(t *testing.T) {
	f := startFixture(t, "waits")
	tr := tracer(t, OffCPU(OffCPUOptions{LookInterval: 2 * time.Millisecond}), f.pid())
	drainOf(t, tr, f.pid())
	ran := cpuTime(t, f.pid())
	took := f.do(t)
	f.rest(t)
	ran = cpuTime(t, f.pid()) - ran
	list, stats := drainOf(t, tr, f.pid())
	require.LessOrEqual(t, stats.Kept, mostLooks(took, 2*time.Millisecond))
	long := false
	for _, s := range inCall(list, unix.SYS_CLOCK_NANOSLEEP) {
		if len(s.User) == 0 {
			require.Equal(t, EndNotLooked, s.End, "a wait without its stack says so")
		}
		long = long || s.Sums[0] >= uint64(time.Second) && s.Detail&OffCPUPreempted == 0
	}
	require.True(t, long)
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, 20001, sums[1], 0.15)
	require.InEpsilon(t, took-uint64(ran), sums[0], 0.3)
}

// The error that is told of stacks of some waits is that of their sum: the time
// that there was lies within three standard errors, but for one in 370.
func TestOffCPUTellsItsError(t *testing.T) {
	const rounds = 8
	f := startFixture(t, "sleeps", "3000", "200")
	f.precede(t)
	tr := tracer(t, OffCPU(OffCPUOptions{LookInterval: 2 * time.Millisecond}), f.pid())
	beyond := 0
	var last Stats
	_, last, err := tr.Drain()
	require.NoError(t, err)
	for range rounds {
		ran, stolen := cpuTime(t, f.pid()), stolenTime(t)
		took := f.do(t)
		f.rest(t)
		list, stats := drainOf(t, tr, f.pid())
		ran, stolen = cpuTime(t, f.pid())-ran, stolenSince(t, stolen)
		require.Zero(t, stats.Lost(), "%+v", stats)
		require.LessOrEqual(t, stats.Kept, mostLooks(took, 2*time.Millisecond), "not all stacks are taken")
		var waited, variance float64
		for _, s := range list {
			waited += float64(s.Sums[0])
			variance += WaitVariance(&s)
		}
		there := float64(stats.To.Sub(last.To) - ran)
		last = stats
		deviation := math.Sqrt(variance)
		require.Positive(t, deviation)
		require.Less(t, deviation, there)
		// A thread that a hypervisor takes the CPU from neither waits nor runs.
		if waited-there > 3*deviation || there-waited > 3*deviation+float64(stolen) {
			beyond++
		}
	}
	require.LessOrEqual(t, beyond, 1)
}

// Threads that could run and have no CPU do not block.
func TestOffCPUTellsPreemption(t *testing.T) {
	var pids []int
	for range 2 * runtime.NumCPU() {
		pids = append(pids, start(t, "/bin/sh", "-c", "while :; do :; done").Process.Pid)
	}
	tr := tracer(t, OffCPU(OffCPUOptions{}), pids...)
	time.Sleep(100 * time.Millisecond)
	began := time.Now() // a drain counts up to some moment in it
	_, _, err := tr.Drain()
	require.NoError(t, err)
	time.Sleep(2 * time.Second)
	samples, _, err := tr.Drain()
	require.NoError(t, err)
	wall := uint64(len(pids)) * uint64(time.Since(began))
	var blocked, preempted uint64
	for _, s := range samples {
		if s.Detail&OffCPUPreempted != 0 {
			preempted += s.Sums[0]
		} else {
			blocked += s.Sums[0]
		}
	}
	require.Less(t, blocked, wall/100)
	require.Greater(t, preempted, wall/4, "half of the threads have no CPU")
	require.LessOrEqual(t, preempted, wall)
}

// What a thread waits and what it runs is all the time there is, also where it
// has to wait for a CPU.
func TestOffCPUAndOnCPUAddUp(t *testing.T) {
	for name, spinners := range map[string]int{"alone": 0, "beside others": 2 * runtime.NumCPU()} {
		t.Run(name, func(t *testing.T) {
			for range spinners {
				start(t, "/bin/sh", "-c", "while :; do :; done")
			}
			f := startFixture(t, "works", "200")
			tr := tracer(t, OffCPU(OffCPUOptions{}), f.pid())
			f.rest(t)
			_, first, err := tr.Drain()
			require.NoError(t, err)
			ran, stolen := cpuTime(t, f.pid()), stolenTime(t)
			f.do(t)
			f.rest(t)
			list, stats := drainOf(t, tr, f.pid())
			ran, stolen = cpuTime(t, f.pid())-ran, stolenSince(t, stolen)
			require.Zero(t, stats.Lost(), "%+v", stats)
			_, sums := total(list)
			wall, both := stats.To.Sub(first.To), time.Duration(sums[0])+ran
			// A thread that a hypervisor takes the CPU from neither waits nor runs.
			require.LessOrEqual(t, both, wall+wall/50, "waited %v, ran %v", time.Duration(sums[0]), ran)
			require.GreaterOrEqual(t, both+stolen, wall-wall/50, "waited %v, ran %v, stolen %v", time.Duration(sums[0]), ran, stolen)
		})
	}
}

// tick is the unit of /proc/stat: USER_HZ is 100.
const tick = 10 * time.Millisecond

// stolenTime is how long the CPUs were taken by a hypervisor, in whole ticks.
func stolenTime(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	require.NoError(t, err)
	fields := strings.Fields(strings.SplitN(string(text), "\n", 2)[0])
	require.Greater(t, len(fields), 8)
	ticks, err := strconv.Atoi(fields[8])
	require.NoError(t, err)
	return time.Duration(ticks) * tick
}

// stolenSince is how long they were taken at most since then.
func stolenSince(t *testing.T, then time.Duration) time.Duration {
	t.Helper()
	return stolenTime(t) - then + tick
}
