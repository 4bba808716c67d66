//go:build integration && linux

package bpf

import (
	"fmt"
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
	blockedBefore, preemptedBefore := switches(t, f.pid())
	drainOf(t, tr, f.pid())
	took := f.do(t)
	blockedAfter, preemptedAfter := switches(t, f.pid())
	list, stats := drainOf(t, tr, f.pid())
	require.Equal(t, stats.LostState, stats.Lost())
	var blocked, preempted uint64
	for _, s := range list {
		require.NotEmpty(t, s.User)
		require.NotEmpty(t, s.Kernel)
		if s.Detail&OffCPUPreempted == 0 {
			blocked += s.Sums[1]
		} else {
			preempted += s.Sums[1]
		}
	}
	// Some systems hide their own tasks, and so that another comes after one.
	require.Equal(t, blockedAfter-blockedBefore+preemptedAfter-preemptedBefore, blocked+preempted+stats.LostState)
	require.InDelta(t, blockedAfter-blockedBefore, blocked, float64(stats.LostState), "waits that block")
	require.Less(t, stats.LostState, uint64(50))
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, took, sums[0], 0.05, "nanoseconds against the program's clock")
}

// switches returns the kernel's own count of the switches away from a thread.
func switches(t *testing.T, pid int) (voluntary, involuntary uint64) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // it waits for its next line by then
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
		require.Equal(t, stats.LostState, stats.Lost())
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

// Stacks of some waits stand for all: neither number nor time is biased.
func TestOffCPULooksAtSomeWaits(t *testing.T) {
	f := startFixture(t, "sleeps", "20000", "1")
	tr := tracer(t, OffCPU(OffCPUOptions{LookInterval: time.Millisecond}), f.pid())
	drainOf(t, tr, f.pid())
	took := f.do(t)
	list, stats := drainOf(t, tr, f.pid())
	require.Equal(t, stats.LostState, stats.Lost())
	require.Less(t, stats.Kept, uint64(15000))
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, 20000, sums[1], 0.15)
	// On a busy host some waits are far longer than the rest.
	require.InEpsilon(t, took, sums[0], 0.4)
}

// One long wait among many short ones is always there, whatever is looked at.
func TestOffCPUKeepsRareLongWaits(t *testing.T) {
	f := startFixture(t, "waits")
	tr := tracer(t, OffCPU(OffCPUOptions{LookInterval: 2 * time.Millisecond}), f.pid())
	drainOf(t, tr, f.pid())
	took := f.do(t)
	list, stats := drainOf(t, tr, f.pid())
	require.Less(t, stats.Kept, uint64(15000))
	long := false
	for _, s := range inCall(list, unix.SYS_CLOCK_NANOSLEEP) {
		long = long || s.Sums[0] >= uint64(time.Second) && s.Detail&OffCPUPreempted == 0
	}
	require.True(t, long)
	_, sums := total(inCall(list, unix.SYS_CLOCK_NANOSLEEP))
	require.InEpsilon(t, 20001, sums[1], 0.15)
	require.InEpsilon(t, took, sums[0], 0.3)
}

// Threads that could run and have no CPU do not block.
func TestOffCPUTellsPreemption(t *testing.T) {
	var pids []int
	for range 2 * runtime.NumCPU() {
		pids = append(pids, start(t, "/bin/sh", "-c", "while :; do :; done").Process.Pid)
	}
	tr := tracer(t, OffCPU(OffCPUOptions{}), pids...)
	time.Sleep(100 * time.Millisecond)
	_, _, err := tr.Drain()
	require.NoError(t, err)
	began := time.Now()
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

// What a thread waits and what it runs is all the time there is.
func TestOffCPUAndOnCPUAddUp(t *testing.T) {
	f := startFixture(t, "sleeps", "1500", "1500")
	tr := tracer(t, OffCPU(OffCPUOptions{}), f.pid())
	time.Sleep(50 * time.Millisecond)
	_, first, err := tr.Drain()
	require.NoError(t, err)
	ran := cpuTime(t, f.pid())
	f.do(t)
	time.Sleep(50 * time.Millisecond) // its wait for the next line is long enough to be counted
	list, stats := drainOf(t, tr, f.pid())
	ran = cpuTime(t, f.pid()) - ran
	_, sums := total(list)
	wall := stats.To.Sub(first.To)
	// A wait whose end was not seen is missing, and no longer than the others.
	lost := time.Duration(stats.LostState) * time.Duration(sums[0]/max(sums[1], 1))
	require.InEpsilon(t, wall, time.Duration(sums[0])+ran+lost, 0.03, "waited %v, ran %v, lost %v", time.Duration(sums[0]), ran, lost)
}
