//go:build integration && linux

package bpf

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// eventsOf runs short processes and returns what was told meanwhile, by a reader
// that lost nothing: others on the host may start more than there is room for.
func eventsOf(t *testing.T, runs int) (events []Event, pids map[uint32]bool) {
	t.Helper()
	for range 20 {
		r, err := NewEventReader(nil)
		require.NoError(t, err)
		var mu sync.Mutex
		done := make(chan error, 1)
		events, pids = nil, make(map[uint32]bool)
		go func() {
			done <- r.Run(func() {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, r.Poll()...)
			})
		}()
		for range runs {
			cmd := exec.Command("/bin/true")
			require.NoError(t, cmd.Run())
			pids[uint32(cmd.Process.Pid)] = true
		}
		lost := false
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			exited := 0
			for i := range events {
				lost = lost || events[i].Kind == EventLost
				if events[i].Kind == EventExit && pids[events[i].PID] {
					exited++
				}
			}
			return lost || exited >= runs
		}, time.Minute, 10*time.Millisecond)
		r.Close()
		require.NoError(t, <-done)
		require.Zero(t, r.Malformed())
		if !lost {
			return events, pids
		}
	}
	t.Fatal("events were lost again and again")
	return nil, nil
}

// Processes that live for a millisecond or two are gone before anybody could
// read their mappings, yet every one of them is reported with its files.
func TestEventReaderSeesShortProcesses(t *testing.T) {
	const runs = 100
	events, pids := eventsOf(t, runs)
	programs, libcs, execs := 0, 0, 0
	var last uint64
	for i := range events {
		ev := &events[i]
		require.GreaterOrEqual(t, ev.Nanos, last, "events are in order")
		last = ev.Nanos
		if !pids[ev.PID] {
			continue
		}
		switch {
		case ev.Kind == EventMmap && ev.Path == "/usr/bin/true":
			programs++
			require.NotZero(t, ev.Inode)
			require.NotZero(t, ev.Dev)
		case ev.Kind == EventMmap && strings.Contains(ev.Path, "libc.so.6"):
			libcs++
		case ev.Kind == EventComm && ev.Exec:
			execs++
			require.Equal(t, "true", ev.Comm)
		}
	}
	require.Equal(t, runs, programs)
	require.Equal(t, runs, libcs)
	require.Equal(t, runs, execs)
}

// The kernel tells of BPF programs as they come and go, under the names that
// kallsyms gives them, and when, whoever else listens.
func TestEventReaderSeesKernelCode(t *testing.T) {
	began := monotonicNanos()
	r, err := NewEventReader(nil)
	require.NoError(t, err)
	defer r.Close()
	for range 2 { // who came last is told first
		other, err := NewEventReader(nil)
		require.NoError(t, err)
		defer other.Close()
	}
	s, err := NewSampler(Options{Frequency: 1, DrainInterval: time.Second})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	came := make(map[uint64]bool) // others load programs and let them go, too
	require.Eventually(t, func() bool {
		both := false
		for _, ev := range r.Poll() {
			if ev.Kind != EventSymbol || !strings.HasSuffix(ev.Comm, "_profile") {
				continue
			}
			require.GreaterOrEqual(t, ev.Nanos, began)
			require.LessOrEqual(t, ev.Nanos, monotonicNanos())
			require.NotZero(t, ev.Length)
			require.NotZero(t, ev.Start>>63, "a kernel address")
			require.True(t, strings.HasPrefix(ev.Comm, "bpf_prog_"))
			both = both || ev.Gone && came[ev.Start]
			came[ev.Start] = !ev.Gone
		}
		return both
	}, time.Minute, 10*time.Millisecond, "a program came and went")
}

// Whoever records with perf beside us gets data that perf can read.
func TestEventReaderLeavesPerfAlone(t *testing.T) {
	r, err := NewEventReader(nil)
	require.NoError(t, err)
	defer r.Close()
	data := t.TempDir() + "/perf.data"
	out, err := exec.Command("perf", "record", "-q", "-N", "-F", "999", "-g", "-o", data, "--",
		"/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ls -l /proc/self/ >/dev/null; done").CombinedOutput()
	require.NoError(t, err, "perf record: %s", out)
	out, err = exec.Command("perf", "script", "-i", data).CombinedOutput()
	require.NoError(t, err, "perf script: %s", out)
}
