package cli

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/child"
	"github.com/flametel/flametel/cmd/flametel/internal/fakereceiver"
	"github.com/flametel/flametel/cmd/flametel/internal/preflight"
)

var _ = flag.Bool("update", false, "write the golden files")

// behaviourVariable names how the receiver behaves when the test program is
// called as flametel.
const behaviourVariable = "FLAMETEL_TEST_BEHAVIOUR"

// realReceiver is the behaviour of the receiver that samples this host.
const realReceiver = "real"

func TestMain(m *testing.M) {
	behaviour := os.Getenv(behaviourVariable)
	if behaviour == realReceiver {
		os.Exit(Main(os.Args))
	}
	if b, ok := behaviours()[behaviour]; ok {
		os.Exit(Run(os.Args, fakereceiver.NewFactory(b), func() preflight.Host { return hostOf(behaviour) }))
	}
	if len(os.Args) > 1 && os.Args[1] == child.ExecName {
		os.Exit(child.Exec(os.Args[2:]))
	}
	// What we handle is reset in the programs that we start; what our own
	// parent ignores, as nohup does with SIGHUP, would stay ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(m.Run())
}

// hostOf is this host, on which we hold the capabilities of a behaviour, else all.
func hostOf(behaviour string) preflight.Host {
	h := preflight.Inspect("/", os.Getenv)
	h.Container, h.Kubernetes, h.UserNamespace = "", false, false
	switch behaviour {
	case "refused":
	case "no capabilities":
		h.Effective = 0
	case "two capabilities":
		h.Effective = 1<<38 | 1<<39 // CAP_PERFMON, CAP_BPF
	default:
		h.Effective = 1<<41 - 1
	}
	return h
}

// samples is what a fake recording holds.
func samples() *fakereceiver.Data {
	main := fakereceiver.Frame{Name: "main", Type: "native", Module: "/bin/web"}
	return &fakereceiver.Data{
		Duration: time.Second,
		Stacks: []fakereceiver.Stack{
			{PID: 10, Process: "web", Count: 70, Frames: []fakereceiver.Frame{{Name: "parse", Type: "native", Module: "/bin/web"}, main}},
			{PID: 10, Process: "web", Count: 28, Frames: []fakereceiver.Frame{{Name: "copy_page", Type: "kernel", Module: "[kernel]"}, main}},
			{PID: 11, Process: "bad\x1b[2J", Count: 2, Frames: []fakereceiver.Frame{{Name: "\x1b[31mred", Type: "native", Module: "/bin/bad"}}},
		},
		Accounting: fakereceiver.Accounting{
			"samples.taken": 198, "samples.kept": 100, "samples.idle": 98, "samples.lost": 0,
			"frames.total": 200, "frames.unknown": 0, "frequency.asked": 99.0, "frequency.achieved": 98.7, "cpus": 2,
		},
	}
}

func behaviours() map[string]fakereceiver.Behaviour {
	idle := &fakereceiver.Data{Accounting: fakereceiver.Accounting{"samples.taken": 198, "samples.idle": 198}}
	refused := &os.SyscallError{Syscall: "load program: missing CAP_BPF", Err: syscall.EPERM}
	return map[string]fakereceiver.Behaviour{
		"no capabilities":  {StartErr: refused},
		"two capabilities": {Last: samples()},
		"samples":          {Last: samples()},
		"early":            {First: samples()},
		"none":             {Last: idle},
		"refused":          {StartErr: refused},
		"broken":           {StartErr: errors.New("the kernel is too old")},
		"late":             {Late: errors.New("the ring is gone"), First: samples()},
		"warning":          {Warn: "Something is odd.", Last: samples()},
		"ended":            {Last: samples(), Ended: true},
		"early end":        {Last: idle, Ended: true},
		"starts for ever":  {Warn: "Something is odd.", StartHangs: true},
		"hang":             {First: samples(), Hang: true},
	}
}

// program is a run of flametel.
type program struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr lockedBuffer
}

// flametel prepares a run in a folder of the test's own.
func flametel(t *testing.T, behaviour string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{Cmd: exec.Command(self, args...), t: t}
	p.Args[0] = "flametel"
	p.Dir = t.TempDir()
	p.Env = append(os.Environ(), behaviourVariable+"="+behaviour, "TZ=UTC")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	return p
}

// run runs it to its end and returns the exit code.
func (p *program) run() int {
	p.t.Helper()
	require.NoError(p.t, p.Start())
	return p.end()
}

func (p *program) end() int {
	p.t.Helper()
	err := p.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(p.t, err)
	}
	return p.ProcessState.ExitCode()
}

// begin starts it and waits until it records.
func (p *program) begin() {
	p.t.Helper()
	require.NoError(p.t, p.Start())
	p.t.Cleanup(func() { _ = p.Process.Kill() })
	p.await("recording ")
}

// patience is how long a busy machine may take, and tick how often we look.
const (
	patience = time.Minute
	tick     = 5 * time.Millisecond
)

// await waits until standard error contains a text.
func (p *program) await(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool { return strings.Contains(p.stderr.String(), text) },
		patience, tick, "waiting for %q", text)
}

func (p *program) file(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, name))
	require.NoError(p.t, err)
	return string(text)
}

// files are the names in its folder.
func (p *program) files() []string {
	p.t.Helper()
	entries, err := os.ReadDir(p.Dir)
	require.NoError(p.t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

var (
	elapsedText = regexp.MustCompile(`(in|after) [0-9]+\.[0-9] s\b`)
	ownText     = regexp.MustCompile(`own CPU [0-9.]+%`)
	sizeText    = regexp.MustCompile(`\([0-9]+ (bytes|kB)\)`)
)

// normal is standard error without what differs from run to run.
func (p *program) normal() string {
	text := elapsedText.ReplaceAllString(p.stderr.String(), "$1 T s")
	return sizeText.ReplaceAllString(text, "(SIZE)")
}

// assertEnd checks exit code and messages of a run.
func (p *program) assertEnd(code int, stderr string) {
	p.t.Helper()
	assert.Equal(p.t, code, p.ProcessState.ExitCode(), "exit code; printed: %s", p.stderr.String())
	assert.Equal(p.t, stderr, p.normal())
}

// lockedBuffer is a buffer that can be read while a program writes to it.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
