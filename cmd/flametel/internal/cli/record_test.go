package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	recordingHost = "recording the whole host at 99 Hz for 0.1 s; Ctrl-C stops early\n"
	summaryText   = `100 samples in T s from 2 processes, 3 stacks, 0.0% of frames unknown; 98.7 of 99 Hz achieved
0 of 198 samples lost; 98 idle; top by self time:
  70.0%  user     parse
  28.0%  kernel   copy_page
   2.0%  user     \x1b[31mred
`
)

func TestRecordTheHost(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "out.svg", "-o", "out.folded")
	p.run()
	p.assertEnd(0, recordingHost+summaryText+"wrote out.svg (SIZE), out.folded (SIZE)\n")
	assert.Empty(t, p.stdout.String())
	assert.Equal(t, []string{"out.folded", "out.svg"}, p.files())
	assert.Contains(t, p.file("out.folded"), "web;main;copy_page_[k] 28\nweb;main;parse 70\n")
	assert.Contains(t, p.file("out.svg"), "<svg")
}

func TestStandardOutputIsOnlyTheProfile(t *testing.T) {
	t.Parallel()
	folded := flametel(t, "samples", "record", "-d", "0.1", "-o", "-", "--no-annotations")
	folded.run()
	folded.assertEnd(0, recordingHost+summaryText+"wrote standard output\n")
	assert.Regexp(t, `^bad.*\nweb;main;copy_page 28\nweb;main;parse 70\n$`, folded.stdout.String())

	svg := flametel(t, "samples", "record", "-d", "0.1", "-o", "-", "-f", "svg", "-q", "--title", "a <title>")
	svg.run()
	svg.assertEnd(0, "")
	assert.Contains(t, svg.stdout.String(), "<svg")
	assert.Contains(t, svg.stdout.String(), "a &lt;title&gt;")
	assert.Empty(t, svg.files())
}

// The format asked for wins, but not silently.
func TestExtensionOfAnotherFormatIsWarnedOf(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-q", "-f", "folded", "-o", "a.svg", "-o", "a.txt", "-o", "a.out")
	p.run()
	p.assertEnd(0, "flametel: warning: a.svg will be folded, as --format says, although its extension stands for svg\n")
	assert.Contains(t, p.file("a.svg"), "web;main;parse 70")
}

func TestDefaultName(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	require.NoError(t, err)
	p := flametel(t, "samples", "record", "-d", "0.1", "-q")
	p.run()
	p.assertEnd(0, "")
	require.Len(t, p.files(), 1)
	assert.Regexp(t, `^profile-`+regexp.QuoteMeta(host)+`-\d{8}-\d{6}\.svg$`, p.files()[0])

	command := flametel(t, "samples", "record", "-q", "-f", "folded", "--", "/bin/true")
	command.run()
	command.assertEnd(0, "")
	require.Len(t, command.files(), 1)
	assert.Regexp(t, `^profile-true-\d{8}-\d{6}\.folded$`, command.files()[0])
}

func TestNamedFileIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	p := flametel(t, "early", "record", "-o", "out.folded")
	path := filepath.Join(p.Dir, "out.folded")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	before, err := os.Stat(path)
	require.NoError(t, err)
	p.begin()
	assert.Equal(t, "old", p.file("out.folded"), "until it is complete")
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	assert.Equal(t, 130, p.end())
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.False(t, os.SameFile(before, after), "a new file, not the old one written over")
	assert.Equal(t, os.FileMode(0o600), after.Mode())
	assert.Contains(t, p.file("out.folded"), "parse 70")
	assert.Equal(t, []string{"out.folded"}, p.files())
}

func TestNoSamplesHasItsOwnCodeAndTheReasonInTheFile(t *testing.T) {
	t.Parallel()
	p := flametel(t, "none", "record", "-d", "0.1", "-o", "out.svg")
	p.run()
	p.assertEnd(3, recordingHost+"no samples: all CPUs were idle\n0 of 198 samples lost; 198 idle\nwrote out.svg (SIZE)\n")
	assert.Contains(t, p.file("out.svg"), "198 samples were taken, all of idle CPUs.")
}

// When a recording does not even begin, earlier files stay and none is left over.
func TestWhatFailsBeforeRecording(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, behaviour string
		args            []string
		code            int
		stderr          string
	}{
		{"no such process", "samples", []string{"-p", "999999999"}, 2, "flametel: --pid must be between 1 and 4194304, got 999999999\nflametel record --help says how to use it\n"},
		{"unused process ID", "samples", []string{"-p", "4194304"}, 1, "flametel: process 4194304 does not exist\n"},
		{"receiver", "broken", nil, 1, "flametel: the kernel is too old\n"},
		{"receiver, with a command", "broken", []string{"--", "touch", "touched"}, 125, "flametel: the kernel is too old\n"},
		{"receiver, default name", "broken", []string{"-q"}, 1, "flametel: the kernel is too old\n"},
		{"missing folder", "samples", []string{"-o", "sub/x.svg"}, 1, "flametel: folder sub does not exist; make it or choose another --output\n"},
		{"nothing can be made there", "samples", []string{"-o", "/proc/x.svg"}, 1, "flametel: /proc/x.svg cannot be written, and no file can be made there: no such file or directory; choose another --output\n"},
		{"missing folder, with a command", "samples", []string{"-o", "sub/x.svg", "--", "touch", "touched"}, 125, "flametel: folder sub does not exist; make it or choose another --output\n"},
		{"no such command", "samples", []string{"--", "no-such-command"}, 127, "flametel: run no-such-command: no such command in PATH\n"},
		{"no such file", "samples", []string{"--", "./missing"}, 127, "flametel: run ./missing: no such file\n"},
		{"not executable", "samples", []string{"--", "./keep.svg"}, 126, "flametel: run ./keep.svg: not executable\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"record", "-o", "keep.svg"}, test.args...)
			if test.name == "receiver, default name" {
				args = append([]string{"record"}, test.args...)
			}
			p := flametel(t, test.behaviour, args...)
			require.NoError(t, os.WriteFile(filepath.Join(p.Dir, "keep.svg"), []byte("old"), 0o600))
			p.run()
			p.assertEnd(test.code, test.stderr)
			assert.Equal(t, []string{"keep.svg"}, p.files())
			assert.Equal(t, "old", p.file("keep.svg"))
		})
	}
}

func TestThreadIsToldFromProcess(t *testing.T) {
	t.Parallel()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	leader := filepath.Base(must(os.Readlink("/proc/self")))
	for _, task := range tasks {
		if task.Name() == leader {
			continue
		}
		p := flametel(t, "samples", "record", "-p", task.Name())
		p.run()
		p.assertEnd(1, "flametel: "+task.Name()+" is a thread of process "+leader+"; use --pid "+leader+"\n")
		return
	}
	t.Fatal("a Go program has several threads")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestPrivileges(t *testing.T) {
	t.Parallel()
	p := flametel(t, "refused", "record", "-o", "out.svg", "--", "touch", "a b")
	code := p.run()
	assert.Equal(t, 4, code)
	assert.Empty(t, p.files())
	lines := strings.Split(p.stderr.String(), "\n")
	assert.Equal(t, "flametel: sampling is not permitted: the kernel refused it: operation not permitted (EPERM)", lines[0])
	assert.Regexp(t, `^  missing     `, lines[1])
	assert.Regexp(t, `^  this host   Linux \S+, kernel.perf_event_paranoid=`, lines[2])
}

// Privileges are what is missing first, whatever else is wrong.
func TestPrivilegesComeFirst(t *testing.T) {
	t.Parallel()
	p := flametel(t, "no capabilities", "record", "-o", "reports/out.svg")
	assert.Equal(t, 4, p.run())
	lines := strings.Split(p.stderr.String(), "\n")
	assert.Equal(t, "flametel: sampling is not permitted: capabilities are missing", lines[0])
	assert.Regexp(t, `^  missing     CAP_BPF, CAP_PERFMON; `, lines[1])
	assert.Equal(t, "flametel: folder reports does not exist; make it or choose another --output", lines[len(lines)-2])

	dry := flametel(t, "no capabilities", "record", "--dry-run", "-o", "out.svg")
	assert.Equal(t, 4, dry.run())
	assert.Regexp(t, `(?m)^MISSING +CAP_BPF: `, dry.stdout.String())
	assert.Regexp(t, `(?m)^MISSING sampling +cpu at 99 Hz on each of \d+ CPUs: not without the capabilities above$`, dry.stdout.String())
}

// One warning names what is missing for names, and the command.
func TestMissingCapabilitiesForNamesAreSaid(t *testing.T) {
	t.Parallel()
	p := flametel(t, "two capabilities", "record", "-d", "0.1", "-o", "out.svg", "-q")
	assert.Zero(t, p.run())
	assert.Regexp(t, `^flametel: warning: many functions will have no names without CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE; use sudo, or once: sudo setcap cap_bpf,\S+\+ep /\S+\n$`,
		p.stderr.String())
}

func TestLateFailureKeepsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	p := flametel(t, "late", "record", "-o", "out.folded")
	p.run()
	p.assertEnd(1, strings.Replace(recordingHost, "0.1 s", "30 s", 1)+summaryText+"wrote out.folded (SIZE)\nflametel: the ring is gone\n")
	assert.Contains(t, p.file("out.folded"), "parse 70")
}

func TestWarningsOfComponentsArePlainLines(t *testing.T) {
	t.Parallel()
	p := flametel(t, "warning", "record", "-d", "0.1", "-o", "-", "-q")
	p.run()
	p.assertEnd(0, `flametel: warning: Something is odd (count 3, name bad\x1b[2J)`+"\n")
}

func TestWriteErrorIsAFailure(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "/dev/full", "-f", "folded")
	p.run()
	assert.Equal(t, 1, p.ProcessState.ExitCode())
	assert.Contains(t, p.stderr.String(), "no space left on device")
	assert.NotContains(t, p.stderr.String(), "wrote")
}

// That nobody reads standard output any more ends nothing: other outputs are
// written, and it is no failure.
func TestBrokenPipeLeavesOtherOutputs(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.1", "-o", "-", "-o", "out.folded", "-q")
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	p.Stdout = writer
	defer func() { _ = writer.Close() }()
	assert.Zero(t, p.run())
	assert.Empty(t, p.stderr.String())
	assert.Contains(t, p.file("out.folded"), "parse 70")
}

func TestSignalsEndARecordingAndKeepIt(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := flametel(t, "samples", "record", "-o", "out.folded")
			p.begin()
			require.NoError(t, p.Process.Signal(signal))
			p.end()
			p.assertEnd(code, strings.Replace(recordingHost, "0.1 s", "30 s", 1)+summaryText+"interrupted after T s; wrote out.folded (SIZE)\n")
			assert.Contains(t, p.file("out.folded"), "parse 70")
		})
	}
}

func TestOtherSignalsDoNotEndARecording(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "-d", "0.5", "-o", "out.folded")
	p.begin()
	require.NoError(t, p.Process.Signal(syscall.SIGUSR1))
	assert.Zero(t, p.end())
}

func TestSecondInterruptQuitsAtOnce(t *testing.T) {
	t.Parallel()
	p := flametel(t, "hang", "record")
	p.begin()
	require.NoError(t, p.Process.Signal(syscall.SIGINT))
	require.Eventually(t, func() bool {
		// Signals that come together are one.
		_ = p.Process.Signal(syscall.SIGTERM)
		return p.Process.Signal(syscall.Signal(0)) != nil || exited(p)
	}, patience, 4*tick)
	assert.Contains(t, []int{130, 143}, p.end(), "signals that come together have no order")
	assert.Empty(t, p.files(), "no empty file under the default name")
}

// exited reports whether a process has ended, but was not waited for.
func exited(p *program) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", itoa(p.Process.Pid), "stat"))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
