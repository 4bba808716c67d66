package child

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flametel/flametel/internal/executable"
)

// The test program plays two parts of its own: the waiting process, and, as
// "runner COMMAND...", a program that runs a command with its own standard
// files.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case ExecName:
			os.Exit(Exec(os.Args[2:]))
		case "runner":
			os.Exit(runner(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

func runner(argv []string) int {
	c, err := Start(argv)
	if err == nil {
		err = c.Release()
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		var e *Error
		if errors.As(err, &e) {
			return e.Code
		}
		return 1
	}
	return c.Code()
}

// run runs a command by the runner and returns what it printed, and its code.
func run(t *testing.T, stdin string, argv ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"runner"}, argv...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func script(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	executable.Write(t, path, []byte(text))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		argv   []string
		code   int
		stderr string
	}{
		{"success", []string{"true"}, 0, ""},
		{"its own", []string{"sh", "-c", "exit 7"}, 7, ""},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 128 + 9, ""},
		{"terminated", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15, ""},
		{"not in PATH", []string{"no-such-command"}, 127, "run no-such-command: no such command in PATH\n"},
		{"no such file", []string{"/no/such"}, 127, "run /no/such: no such file\n"},
		{"folder", []string{"/tmp"}, 126, "run /tmp: is a directory\n"},
		{"script for the shell", []string{script(t, "exit 3\n", 0o700)}, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := run(t, "", test.argv...)
			assert.Equal(t, test.code, code)
			assert.Equal(t, test.stderr, stderr)
			assert.Empty(t, stdout)
		})
	}
}

func TestWhatCannotBeExecuted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		code       int
		stderr     string
	}{
		{"not executable", "#!/bin/sh\n", 0o600, 126, "not executable"},
		{"interpreter missing", "#!/no/such/interpreter\n", 0o700, 127, "no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := run(t, "", script(t, test.text, test.mode))
			assert.Equal(t, test.code, code)
			assert.Contains(t, stderr, test.stderr)
		})
	}
}

func TestStandardFilesAndArgumentsPass(t *testing.T) {
	t.Parallel()
	stdout, stderr, code := run(t, "from stdin", "sh", "-c", `cat; echo "$0|$1|$2"; echo error >&2`, "a b", "", "--flag")
	assert.Equal(t, "from stdina b||--flag\n", stdout)
	assert.Equal(t, "error\n", stderr)
	assert.Zero(t, code)
}

// Nothing of ours stays open in the command: only its standard files and the
// folder that it lists.
func TestNoDescriptorLeaks(t *testing.T) {
	t.Parallel()
	without, err := exec.Command("ls", "/proc/self/fd").Output() // what the test itself inherited
	require.NoError(t, err)
	stdout, _, _ := run(t, "", "ls", "/proc/self/fd")
	assert.Equal(t, string(without), stdout)
}

// Descriptors that the parents gave a meaning are still the command's.
func TestInheritedDescriptorsPass(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("sh", "-c", `echo hello >"$1"; exec "$0" runner cat /proc/self/fd/3 3<"$1"`,
		"/proc/"+strconv.Itoa(os.Getpid())+"/exe", filepath.Join(t.TempDir(), "file")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "hello\n", string(out))
}

// The tests below start processes from the test's own, one at a time: a
// descriptor meant for one must not get into another.

func TestProcessWaitsUnderItsFutureName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "created")
	c, err := Start([]string{"touch", path})
	require.NoError(t, err)
	assert.NoError(t, syscall.Kill(c.PID(), 0), "the process exists")
	assert.NoFileExists(t, path)
	pid := c.PID()
	require.NoError(t, c.Release())
	assert.Zero(t, c.Code())
	assert.Equal(t, pid, c.PID())
	assert.FileExists(t, path)
}

func TestAbandonedCommandNeverRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "created")
	c, err := Start([]string{"touch", path})
	require.NoError(t, err)
	c.Abandon()
	<-c.Ended()
	assert.NoFileExists(t, path)
	c.Signal(syscall.SIGTERM) // harmless
}

func TestKilledWhileItWaits(t *testing.T) {
	c, err := Start([]string{"sleep", "60"})
	require.NoError(t, err)
	c.Signal(syscall.SIGKILL)
	<-c.Ended()
	require.NoError(t, c.Release())
	assert.Equal(t, 128+9, c.Code())
}
