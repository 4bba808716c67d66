//go:build integration && linux

package unwind

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const precedence = -15

// TestMain gives the profiler precedence over what it profiles: how long it has
// to wait for a CPU beside a dozen busy programs is not what is tested here.
func TestMain(m *testing.M) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		_ = unix.Setpriority(unix.PRIO_PROCESS, tid, precedence) // threads inherit it
	}
	os.Exit(m.Run())
}

// program is one that is built, runs while all others do, and is asked for its
// stacks.
type program struct {
	// build is a shell command that makes the file that name names. $S is the
	// folder of the sources.
	name, build string
	args        []string
	expectation
}

// buildAll runs the commands in a new folder, two at a time, and returns the
// folder.
func buildAll(t *testing.T, programs []program) string {
	t.Helper()
	dir := t.TempDir()
	sources, err := filepath.Abs("testdata")
	require.NoError(t, err)
	next := make(chan program)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for p := range next {
				cmd := exec.Command("sh", "-ec", p.build)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "S="+sources)
				out, err := cmd.CombinedOutput()
				assert.NoError(t, err, "%s\n%s", p.build, out)
			}
		})
	}
	for _, p := range programs {
		next <- p
	}
	close(next)
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return dir
}

// start runs a command, in a process group of its own, until the test ends.
func start(t testing.TB, dir, program string, args ...string) int {
	t.Helper()
	// Without the precedence that TestMain gives, from its first thread on.
	cmd := exec.Command("nice", append([]string{"-n", strconv.Itoa(-precedence), program}, args...)...)
	cmd.Dir = dir
	// A compiler that is killed leaves files.
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) // its children too
		_ = cmd.Wait()
		_ = os.Remove("/tmp/perf-" + strconv.Itoa(cmd.Process.Pid) + ".map") // of a runtime
	})
	return cmd.Process.Pid
}

// together is how many programs run at a time: with more of them the profiler
// itself has to wait too long for a CPU.
const together = 10

// enoughSamples of a program make it no matter of chance whether more than aFew
// are cut: of 60, two were too many.
const enoughSamples = 200

// runAll builds programs, profiles them, some at a time, and checks what they
// show.
func runAll(t *testing.T, samples int64, programs []program) {
	t.Helper()
	dir := buildAll(t, programs)
	for some := range slices.Chunk(programs, together) {
		t.Run("", func(t *testing.T) {
			pids := make([]int, len(some))
			for i, p := range some {
				pids[i] = start(t, dir, filepath.Join(dir, p.name), p.args...)
			}
			r := record(t, 999, pids...)
			r.enough(samples, pids...)
			for i, p := range some {
				t.Run(p.name, func(t *testing.T) { p.check(t, r.of(pids[i])) })
			}
		})
	}
}

// compile is a command for one source.
func compile(cc, name, source string, flags ...string) string {
	return cc + " -w " + strings.Join(flags, " ") + " -o " + name + " $S/" + source
}
