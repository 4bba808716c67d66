//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tracer starts counting events of one process; the test's end closes it.
func tracer(t testing.TB, p *Probe, pids ...int) *Tracer {
	t.Helper()
	tr, err := NewTracer(p, Options{DrainInterval: time.Second, FilterTargets: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	for _, pid := range pids {
		require.NoError(t, tr.SetTarget(processOf(t, pid), Keep))
	}
	return tr
}

// drainOf drains and returns copies of the observations of one process.
func drainOf(t testing.TB, tr *Tracer, pid int) (list []Sample, stats Stats) {
	t.Helper()
	samples, stats, err := tr.Drain()
	require.NoError(t, err)
	var kept uint64
	for _, s := range samples {
		kept += s.Count
		if int(s.PID) != pid {
			continue
		}
		s.User = append([]uint64(nil), s.User...)
		s.Kernel = append([]uint64(nil), s.Kernel...)
		s.Record = append([]uint64(nil), s.Record...)
		list = append(list, s)
	}
	require.Equal(t, stats.Kept, kept)
	require.Equal(t, stats.Taken, stats.Kept+stats.Filtered+stats.Lost(), "%+v", stats)
	return list, stats
}

// total adds up the sums of samples.
func total(list []Sample) (count uint64, sums [3]uint64) {
	for _, s := range list {
		count += s.Count
		sums[0] += s.Sums[0]
		sums[1] += s.Sums[1]
	}
	return count, sums
}

// fixture compiles a program of testdata that does a known number of things. It
// waits for a line on its standard input before it begins, and for another
// before it ends.
type fixture struct {
	cmd   *exec.Cmd
	stdin *os.File
	out   *os.File
}

func startFixture(t testing.TB, name string, args ...string) *fixture {
	t.Helper()
	return startProgram(t, build(t, name), args...)
}

func startProgram(t testing.TB, program string, args ...string) *fixture {
	t.Helper()
	inRead, inWrite, err := os.Pipe()
	require.NoError(t, err)
	outRead, outWrite, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, os.Stderr
	require.NoError(t, cmd.Start())
	_ = inRead.Close()
	_ = outWrite.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = inWrite.Close()
		_ = outRead.Close()
	})
	return &fixture{cmd: cmd, stdin: inWrite, out: outRead}
}

func (f *fixture) pid() int { return f.cmd.Process.Pid }

// rest waits until the program waits for its next line, and has for a while:
// waits of that length are counted, whatever others are looked at.
func (f *fixture) rest(t testing.TB) {
	t.Helper()
	const while = 50 * time.Millisecond
	var before time.Duration
	require.Eventually(t, func() bool {
		ran := cpuTime(t, f.pid())
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.pid()))
		require.NoError(t, err)
		asleep := strings.HasPrefix(string(text[strings.LastIndexByte(string(text), ')')+1:]), " S ")
		same := asleep && ran == before
		before = ran
		return same
	}, patience, while)
}

// precede gives the program precedence over all others, so that its waits are those
// that it asks for. Beside busy programs it would wait for a CPU as well, seldom and
// for long: of such times no estimate from a hundred waits has a known error.
func (f *fixture) precede(t testing.TB) {
	t.Helper()
	first := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}
	require.NoError(t, unix.SchedSetAttr(f.pid(), &first, 0))
}

// do lets the program work and returns what it says of it, a number.
func (f *fixture) do(t testing.TB) uint64 {
	t.Helper()
	_, err := f.stdin.WriteString("\n")
	require.NoError(t, err)
	require.NoError(t, f.out.SetReadDeadline(time.Now().Add(patience)))
	buf := make([]byte, 64)
	n, err := f.out.Read(buf)
	require.NoError(t, err)
	said, err := strconv.ParseUint(string(buf[:n-1]), 10, 64)
	require.NoError(t, err)
	return said
}
