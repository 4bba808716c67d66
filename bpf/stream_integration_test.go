//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// stream starts a stream of one process.
func stream(t testing.TB, o StreamOptions, pid int) *Stream {
	t.Helper()
	s, err := NewStream(o, Options{DrainInterval: time.Second, FilterTargets: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.SetTarget(processOf(t, pid), Keep))
	return s
}

// told returns what was told, and checks that nothing was lost.
func told(t testing.TB, s *Stream) (events []LiveEvent) {
	t.Helper()
	require.NoError(t, s.Read(func(e *LiveEvent) { events = append(events, *e) }))
	_, stats, err := s.Drain()
	require.NoError(t, err)
	require.Zero(t, stats.Lost(), "%+v", stats)
	require.EqualValues(t, len(events), stats.Kept)
	return events
}

func TestStreamTellsEachOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	for _, failed := range []bool{false, true} {
		f := startFixture(t, "opens", dir)
		s := stream(t, StreamOptions{Family: StreamOpens, FailedOnly: failed}, f.pid())
		f.do(t)
		events := told(t, s)
		got := make(map[string]int)
		for _, e := range events {
			require.EqualValues(t, f.pid(), e.PID)
			require.Equal(t, "opens", e.Comm)
			errno := e.Detail >> SyscallErrnoShift & SyscallErrnoMask
			require.Equal(t, e.Result < 0, errno != 0)
			require.Less(t, e.Duration, time.Minute)
			got[fmt.Sprintf("%d %s %s in %s", uint32(e.Detail), unix.ErrnoName(unix.Errno(errno)), e.Text, e.Base)]++
		}
		require.Equal(t, 1428, got["257 ENOENT missing in "+dir])
		require.Equal(t, 1428, got["257 ENOENT /missing/two in "])
		require.Equal(t, 1, got["257 ENOENT no;such\nname in /etc"])
		require.Equal(t, 1, got["257 ENAMETOOLONG "+strings.Repeat("x", 4095)+" in "+dir])
		if failed {
			require.Len(t, events, 3*1428+4)
			continue
		}
		require.Len(t, events, 10000+10)
		require.Equal(t, 1429, got["257  file in "+dir])
		require.Equal(t, 1429, got["257  / in "])
		require.Equal(t, 1, got["437  /dev/full in "])
	}
}

func TestStreamTellsReads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a file")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	f := startFixture(t, "reads", path)
	s := stream(t, StreamOptions{Family: StreamReads}, f.pid())
	f.do(t)
	count, bytes := make(map[uint32]int), make(map[uint32]int64)
	for _, e := range told(t, s) {
		require.Equal(t, path, e.Text)
		count[uint32(e.Detail)]++
		bytes[uint32(e.Detail)] += max(e.Result, 0)
	}
	require.Equal(t, 5000, count[unix.SYS_READ])
	require.EqualValues(t, 300*4096, bytes[unix.SYS_PREAD64])
	require.EqualValues(t, 10*4096, bytes[unix.SYS_SENDFILE])
}

func TestStreamTellsWaits(t *testing.T) {
	t.Parallel()
	// Much longer than a program may be held up on its way to sleep, by others and by
	// a hypervisor: naps would be shorter by that.
	f := startFixture(t, "sleeps", "20", "30000")
	s := stream(t, StreamOptions{Family: StreamWaits, MinDuration: 2 * time.Millisecond}, f.pid())
	took := f.do(t)
	var naps int
	var slept time.Duration
	for _, e := range told(t, s) {
		t.Logf("wait of %v, detail %#x", e.Duration, e.Detail)
		require.GreaterOrEqual(t, e.Duration, 2*time.Millisecond)
		preempted := e.Detail&OffCPUPreempted != 0 // on the way into the call or out of it
		if e.Detail&OffCPUInCall != 0 && uint32(e.Detail) == unix.SYS_CLOCK_NANOSLEEP && !preempted {
			require.Equal(t, "sleeps", e.Comm)
			naps++
			slept += e.Duration
		}
	}
	require.Equal(t, 20, naps)
	require.Less(t, uint64(slept), took)
}

func TestStreamAddsCallsUp(t *testing.T) {
	t.Parallel()
	f := startFixture(t, "calls")
	s := stream(t, StreamOptions{Family: StreamCalls}, f.pid())
	f.do(t)
	calls, callers, err := s.Calls()
	require.NoError(t, err)
	found := false
	for _, c := range calls {
		var inSlots uint64
		for _, n := range c.Slots {
			inSlots += n
		}
		require.Equal(t, c.Count, inSlots)
		if c.Number == unix.SYS_NEWFSTATAT && !c.Compat {
			found = true
			require.GreaterOrEqual(t, c.Count, uint64(10000))
			require.GreaterOrEqual(t, c.Errors, uint64(1000))
			require.Positive(t, c.Time)
		}
	}
	require.True(t, found)
	require.NotEmpty(t, callers)
	for _, c := range callers {
		if int(c.PID) == f.pid() && c.Number == unix.SYS_NEWFSTATAT {
			require.GreaterOrEqual(t, c.Count, uint64(10000))
			require.Equal(t, "calls", c.Comm)
		}
	}
}

// Events that nobody reads have an end of room, and are counted.
func TestStreamCountsWhatItLoses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := startFixture(t, "opens", dir)
	s := stream(t, StreamOptions{Family: StreamOpens, RingBytes: 1 << 16}, f.pid())
	f.do(t)
	read := 0
	require.NoError(t, s.Read(func(*LiveEvent) { read++ }))
	lost, err := s.Lost()
	require.NoError(t, err)
	require.EqualValues(t, 10010, uint64(read)+lost)
	again, err := s.Lost()
	require.NoError(t, err)
	require.Zero(t, again)
	_, stats, err := s.Drain()
	require.NoError(t, err)
	require.EqualValues(t, read, stats.Kept)
	require.Positive(t, stats.Lost())
	require.EqualValues(t, 10010, stats.Kept+stats.Lost())
}

func TestStreamTellsAllocations(t *testing.T) {
	t.Parallel()
	s := stream(t, StreamOptions{Family: StreamAllocations, MinBytes: 1 << 12}, os.Getpid())
	require.NoError(t, os.WriteFile(filepath.Join(t.TempDir(), "file"), make([]byte, 1<<20), 0o600))
	s.Stop() // other tests allocate, also between the look at events and at counts
	waitForPrograms()
	events := told(t, s)
	require.NotEmpty(t, events)
	for _, e := range events {
		require.GreaterOrEqual(t, e.Result, int64(1<<12))
		require.Contains(t, []uint64{LiveKmalloc, LiveSlab, LivePages}, e.Detail)
	}
}

func TestSlotsOfTimes(t *testing.T) {
	t.Parallel()
	require.Zero(t, SlotStart(0))
	require.Equal(t, 80*time.Nanosecond, SlotStart(1))
	require.Equal(t, 128*time.Nanosecond, SlotStart(4))
	require.Equal(t, 1024*time.Nanosecond, SlotStart(16))
}

func TestEventsThatAreCut(t *testing.T) {
	t.Parallel()
	var e LiveEvent
	raw := make([]byte, liveEventSize+3)
	raw[64] = 3
	require.True(t, e.parse(raw))
	raw[68] = 1
	require.False(t, e.parse(raw), "longer than it is")
	require.False(t, e.parse(raw[:71]))
}

// Every family loads, also by the means of older kernels, and with room to the
// verifier's limit.
func TestStreamsLoad(t *testing.T) {
	t.Parallel()
	now, err := probeFeatures()
	require.NoError(t, err)
	for family := StreamCalls; family <= StreamAllocations; family++ {
		for _, f := range []features{now, {taskRegs: true}} {
			s, err := NewStream(StreamOptions{Family: family}, Options{
				DrainInterval: time.Second, features: func() (features, error) { return f, nil },
			})
			require.NoError(t, err, "family %d, %+v", family, f)
			requireRoom(t, s.objects.programs.Programs)
			require.NoError(t, s.Close())
		}
	}
}
