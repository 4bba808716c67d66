package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// screen is a pseudo-terminal with a program in its foreground.
type screen struct {
	*program
	keys *os.File
	text lockedBuffer
	read chan struct{}
}

// onTerminal starts a program on a terminal of 60 columns of its own.
func onTerminal(t *testing.T, p *program) *screen {
	t.Helper()
	return onTerminalOf(t, p, 60, nil)
}

// onTerminalOf is onTerminal with so many columns. What the program writes also
// goes to a second writer, unless that is nil.
func onTerminalOf(t *testing.T, p *program, columns uint16, also io.Writer) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	p.Stdin, p.Stdout, p.Stderr = slave, slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.Start())
	require.NoError(t, slave.Close())

	term := &screen{program: p, keys: master, read: make(chan struct{})}
	go func() {
		defer close(term.read)
		var to io.Writer = &term.text
		if also != nil {
			to = io.MultiWriter(to, also)
		}
		_, _ = io.Copy(to, master) // ends with EIO when the last process closes it
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = master.Close()
		<-term.read
	})
	return term
}

func (term *screen) awaitScreen(text string) {
	term.t.Helper()
	require.Eventually(term.t, func() bool { return strings.Contains(term.text.String(), text) }, patience, tick,
		"waiting for %q", text)
}

func (term *screen) press(key string) {
	term.t.Helper()
	_, err := term.keys.WriteString(key)
	require.NoError(term.t, err)
}

const controlC = "\x03"

func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "early", "record", "-o", "out.svg"))
	term.awaitScreen("\r\x1b[K1 s of 30 s: 100 samples, 3 stacks, 0 lost, own CPU")
	term.awaitScreen("\r\x1b[K2 s of 30 s: 100 samples, 3 stacks, 0 lost, own CPU")
	term.press(controlC)
	assert.Equal(t, 130, term.end())
	<-term.read
	shown := term.text.String()
	_, last, _ := strings.Cut(shown, "2 s of 30 s: 100 samples, 3 stacks, 0 lost")
	assert.Contains(t, last, "\r\x1b[K100 samples in ", "the summary stands in its place")
	assert.Contains(t, shown, "interrupted after ")
	assert.Contains(t, shown, " kB); open it in a browser\r\n")
}

// Before sampling there is a line from the beginning, also for a command, which
// does not write yet.
func TestProgressOfTheStart(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "starts for ever", "record", "-o", "out.svg", "--", "sh", "-c", "echo hello"))
	term.awaitScreen("\r\x1b[Kstarting: loading programs into the kernel, 0 s")
	term.awaitScreen("\r\x1b[Kstarting: loading programs into the kernel, 1 s")
	term.press(controlC)
	assert.Equal(t, 130, term.end())
	<-term.read
	assert.Contains(t, term.text.String(), "\r\x1b[Kflametel: stopped before sampling began: nothing was recorded, and sh was not run\r\n")
}

// Also what comes after sampling shows that it goes on, and can be quit.
func TestProgressOfTheEnd(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "hang", "record", "-o", "out.svg"))
	term.awaitScreen("recording the whole host")
	term.press(controlC)
	term.awaitScreen("\r\x1b[Knaming the last samples, 1 s")
	term.awaitScreen("\r\x1b[Knaming the last samples, 2 s")
	term.press(controlC)
	assert.Equal(t, 130, term.end())
}

// Without a terminal there is a line now and then.
func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	p := flametel(t, "early", "record", "-o", "out.svg", "-d", "10m")
	p.begin()
	p.await("0 s of 10m: 100 samples, 3 stacks, 0 lost, own CPU ")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
	assert.NotContains(t, p.stderr.String(), "\x1b")
	assert.Regexp(t, `(?m)^10 s of 10m: `, p.stderr.String())
}

func TestNoProgressWithQuiet(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "early", "record", "-q", "-d", "1.2", "-o", "out.svg"))
	assert.Zero(t, term.end())
	<-term.read
	assert.Empty(t, term.text.String())
}

// The terminal sends Ctrl-C to the command as well; it must not get it twice, nor
// be disturbed by a progress line.
func TestControlCReachesACommandOnce(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "early", "record", "-o", "out.svg", "--", "sh", "-c", `
		trap 'echo interrupt' INT
		trap 'echo over; exit 4' USR2
		echo ready
		while :; do sleep 0.05; done`))
	term.awaitScreen("ready")
	term.press(controlC)
	term.awaitScreen("interrupt\r\n")
	term.awaitScreen("waiting for sh (process ")
	require.NoError(t, term.Process.Signal(syscall.SIGUSR2))
	assert.Equal(t, 4, term.end())
	<-term.read
	shown := term.text.String()
	assert.Equal(t, 1, strings.Count(shown, "interrupt\r\n"), "%s", shown)
	_, runs, _ := strings.Cut(shown, "ready\r\n")
	assert.NotContains(t, runs, "\x1b[K", "no progress line")
}

func TestBinaryDataDoesNotGoToATerminal(t *testing.T) {
	t.Parallel()
	term := onTerminal(t, flametel(t, "early", "record", "-d", "0.1", "-o", "-", "-f", "pprof"))
	assert.Equal(t, 1, term.end())
	<-term.read
	assert.Equal(t, "flametel: pprof is binary and standard output is a terminal; send it to a file\r\n", term.text.String())
}
