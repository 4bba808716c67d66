package cli

import (
	"strings"
	"syscall"
	"testing"

	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
)

// The size of the emulated terminal.
const (
	emulatedColumns = 100
	emulatedRows    = 24
)

// emulated is a terminal whose screen can be read.
type emulated struct {
	*screen
	emulator vt.MockTerm
}

// topOnTerminal runs flametel top on an emulated terminal and waits for samples.
func topOnTerminal(t *testing.T, args ...string) *emulated {
	t.Helper()
	emulator := vt.NewMockTerm(vt.MockOptSize(vt.Coord{X: emulatedColumns, Y: emulatedRows}))
	require.NoError(t, emulator.Start())
	p := flametel(t, "early", append([]string{"top", "--span", "10m"}, args...)...)
	p.Env = append(p.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	e := &emulated{onTerminalOf(t, p, emulatedColumns, emulator), emulator}
	go func() { // what the terminal answers
		buf := make([]byte, 1024)
		for {
			n, err := emulator.Read(buf)
			if err != nil {
				return
			}
			_, _ = e.keys.Write(buf[:n])
		}
	}()
	t.Cleanup(func() { _ = emulator.Drain(); _ = emulator.Stop() })
	e.sees("parse")
	return e
}

// lines is the screen, without spaces at the ends of lines.
func (e *emulated) lines() []string {
	lines := make([]string, emulatedRows)
	for y := range lines {
		var b strings.Builder
		for x := range emulatedColumns {
			cell := e.emulator.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			if cell.C == "" {
				b.WriteByte(' ')
				continue
			}
			b.WriteString(cell.C)
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

func (e *emulated) text() string { return strings.Join(e.lines(), "\n") }

// sees waits until the screen shows a text.
func (e *emulated) sees(text string) {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return strings.Contains(e.text(), text) }, patience, tick,
		"waiting for %q", text)
}

// reads waits until a line of the screen is exactly this; a screen may be looked
// at while it is being drawn.
func (e *emulated) reads(line int, text string) {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return e.lines()[line] == text }, patience, tick, "waiting for line %d to be %q", line, text)
}

// misses waits until the screen does not show a text.
func (e *emulated) misses(text string) {
	e.t.Helper()
	require.Eventually(e.t, func() bool { return !strings.Contains(e.text(), text) }, patience, tick,
		"waiting for the end of %q", text)
}

func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	e := topOnTerminal(t)
	e.sees("q quit")
	e.sees("flametel top  the whole host  1.01 of 2 CPUs busy  100 samples in 1s, 0 lost")
	e.reads(1, "4 functions by self time")
	e.reads(2, "  SELF*   TOTAL  PROCESS           KIND      MODULE                FUNCTION")
	e.reads(3, "  70.0%   70.0%  web               user      web                   parse")
	e.reads(4, "  28.0%   28.0%  web               kernel    [kernel]              copy_page")
	e.reads(5, `   2.0%    2.0%  bad\x1b[2J        user      bad                   \x1b[31mred`)
	e.reads(6, "   0.0%   98.0%  web               user      web                   main")

	e.press("t")
	e.sees("functions by total time")
	e.reads(3, "   0.0%   98.0%  web               user      web                   main")

	e.press("v")
	e.sees("modules by total time")
	e.sees("  70.0%   98.0%  web               web")
	e.press("\t")
	e.sees("2 processes by total time")
	e.sees("  98.0%   98.0%        10  web")

	e.press("j\r")
	e.sees(`only process bad\x1b[2J (11): 2 samples are 100%`)
	e.sees(`100.0%  100.0%  bad\x1b[2J        user      bad                   \x1b[31mred`)
	e.misses("parse")
	e.press("\x1b")
	e.sees("parse")

	e.press("q")
	assert.Zero(t, e.end())
}

func TestTopFilter(t *testing.T) {
	t.Parallel()
	e := topOnTerminal(t)
	e.press("/COPY(")
	e.sees("/COPY(   missing closing ): `COPY(`")
	e.press("\x7f")
	e.sees("nothing matches") // capitals count if there is one
	e.press("\x15copy")
	e.sees("1 function by self time")
	e.sees("copy_page")
	e.misses("parse")
	e.press("\r")
	e.sees("filter /copy/")
	e.press("\x1b")
	e.sees("parse")
	e.press("/kernel\r")
	e.sees("filter /kernel/")
	e.sees("copy_page")
	e.misses("parse")
	e.press(controlC)
	assert.Zero(t, e.end())
}

func TestTopWritesAFlameGraph(t *testing.T) {
	t.Parallel()
	e := topOnTerminal(t)
	e.press("w")
	e.sees("wrote profile-top-")
	require.Len(t, e.files(), 1)
	assert.Contains(t, e.file(e.files()[0]), "<svg")
	assert.Contains(t, e.file(e.files()[0]), "copy_page")
	e.press("q")
	assert.Zero(t, e.end())
}

func TestTopPauseAndHelp(t *testing.T) {
	t.Parallel()
	e := topOnTerminal(t)
	e.press(" ")
	e.sees("PAUSED")
	e.press(" ")
	e.misses("PAUSED")
	e.press("?")
	e.sees("write a flame graph of the last minute")
	e.sees("TOTAL: samples that have it anywhere in their stack.")
	e.press("?")
	e.sees("parse")
	require.NoError(t, e.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, 143, e.end())
	<-e.read
	assert.Contains(t, e.screen.text.String(), "\x1b[?1049l", "the screen from before is back")
}

func TestTopPrintsTables(t *testing.T) {
	t.Parallel()
	p := flametel(t, "early", "top", "--once", "-i", "1", "--sort", "total", "--filter", "web|bad")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Empty(t, p.stderr.String())
	golden.Check(t, "top_once.txt", ownText.ReplaceAllString(p.stdout.String(), "own CPU P%"))
}

func TestTopWrongUse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		behaviour string
		args      []string
		code      int
		stderr    string
	}{
		{"early", nil, 2, "flametel: standard input or output is not a terminal; print tables with --once or --iterations N\nflametel top --help says how to use it\n"},
		{"early", []string{"--once", "-i", "0.1"}, 2, "flametel: --interval must be between 200ms and 1m, got 100ms\nflametel top --help says how to use it\n"},
		{"early", []string{"--once", "--span", "1"}, 2, "flametel: --span must be between --interval and 10m, got 1s\nflametel top --help says how to use it\n"},
		{"early", []string{"--once", "--sort", "name", "--view", "hosts", "--filter", "("}, 2, "flametel: --sort \"name\" is not one of self, total\nflametel: --view \"hosts\" is not one of functions, modules, processes\nflametel: --filter \"(\": error parsing regexp: missing closing ): `(`\nflametel top --help says how to use it\n"},
		{"early", []string{"--once", "-p", "4194304"}, 1, "flametel: process 4194304 does not exist\n"},
		{"broken", []string{"--once"}, 1, "flametel: the kernel is too old\n"},
		{"late", []string{"-n", "3", "-i", "60"}, 1, "flametel: the ring is gone\n"},
	} {
		p := flametel(t, test.behaviour, append([]string{"top"}, test.args...)...)
		p.run()
		if test.behaviour == "late" { // the first table may come before the error
			assert.Equal(t, 1, p.ProcessState.ExitCode())
			assert.Contains(t, p.stderr.String(), test.stderr)
			continue
		}
		p.assertEnd(test.code, test.stderr)
	}
	refused := flametel(t, "refused", "top", "--once")
	assert.Equal(t, 4, refused.run())
	assert.Contains(t, refused.stderr.String(), "sampling is not permitted")
}

func TestTopInterrupted(t *testing.T) {
	t.Parallel()
	p := flametel(t, "early", "top", "-n", "1000", "-i", "1", "--rows", "1")
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.awaitOutput("parse")
	assert.NotContains(t, p.stdout.String(), "copy_page", "one line was asked for")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
}

func TestHelpOfTopFitsAScreen(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "top", "--help")
	assert.Zero(t, p.run())
	golden.Check(t, "help_top.txt", p.stdout.String())
	lines := strings.Split(strings.TrimSuffix(p.stdout.String(), "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 60)
	for _, line := range lines {
		assert.LessOrEqual(t, len(line), 100, "%s", line)
	}
	code := 0
	for _, f := range flagNames(newTop(nil, &code)) {
		assert.Contains(t, topHelp, "--"+f+" ")
	}
}
