package cli

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/executable"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestExitCodeIsTheCommands(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, behaviour string
		argv            []string
		code            int
	}{
		{"success", "samples", []string{"true"}, 0},
		{"its own", "samples", []string{"sh", "-c", "exit 7"}, 7},
		{"killed", "samples", []string{"sh", "-c", "kill -KILL $$"}, 137},
		{"no samples", "none", []string{"sh", "-c", "exit 5"}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := flametel(t, test.behaviour, append([]string{"record", "-o", "out.svg", "-q", "--"}, test.argv...)...)
			p.run()
			p.assertEnd(test.code, "")
			assert.Equal(t, []string{"out.svg"}, p.files())
		})
	}
}

func TestCommandIsNamedAndRunsToItsEnd(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-o", "out.svg", "--", "sh", "-c", "cat; echo done >&2")
	p.Stdin = strings.NewReader("from stdin")
	p.run()
	p.assertEnd(0, "recording sh -c 'cat; echo done >&2' and its children at 99 Hz until it ends\ndone\n"+summaryText+"wrote out.svg (SIZE)\n")
	assert.Equal(t, "from stdin", p.stdout.String())
}

func TestCommandMayOutliveItsRecording(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.folded", "--", "sh", "-c", "read line; exit 9")
	stdin, err := p.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	p.await("waiting for sh (process ")
	assert.Contains(t, p.file("out.folded"), "parse 70", "written when the time was over")
	require.NoError(t, stdin.Close())
	assert.Equal(t, 9, p.end())
	assert.Contains(t, p.stderr.String(), "at 99 Hz for at most 0.1 s\n")
}

// The command decides what a signal means; the recording ends and is written.
func TestSignalsReachTheCommand(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-o", "out.folded", "--", "sh", "-c", `
		trap 'echo usr2' USR2
		trap 'echo term; exit 5' TERM
		echo ready
		while :; do sleep 0.05; done`)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal
	require.NoError(t, p.Start())
	p.awaitOutput("ready")
	require.NoError(t, p.Process.Signal(syscall.SIGUSR2))
	p.awaitOutput("usr2")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 5, p.end())
	assert.Equal(t, "ready\nusr2\nterm\n", p.stdout.String())
	assert.Contains(t, p.stderr.String(), "interrupted after ")
	assert.Contains(t, p.file("out.folded"), "parse 70")
}

func (p *program) awaitOutput(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.stdout.String(), text) }, patience, tick, "waiting for %q", text)
}

func TestCommandKilledByForwardedSignal(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-o", "out.folded", "--", "sh", "-c", "echo ready; exec sleep 600")
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, p.Start())
	p.awaitOutput("ready")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
	assert.Contains(t, p.file("out.folded"), "parse 70")
}

// A write error after the command ran is a failure of ours, not its exit code.
func TestWriteErrorWithACommand(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-o", "/dev/full", "-f", "folded", "--", "true")
	p.run()
	assert.Equal(t, 125, p.ProcessState.ExitCode())
	assert.Contains(t, p.stderr.String(), "no space left on device")
}

func TestCommandThatCannotBeExecutedLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-o", "keep.svg", "--", "./script")
	require.NoError(t, os.WriteFile(p.Dir+"/keep.svg", []byte("old"), 0o600))
	executable.Write(t, p.Dir+"/script", []byte("#!/no/such/interpreter\n"))
	p.run()
	assert.Equal(t, 127, p.ProcessState.ExitCode())
	assert.Contains(t, p.stderr.String(), "flametel: run ./script: no such file or directory")
	assert.Equal(t, "old", p.file("keep.svg"))
}
