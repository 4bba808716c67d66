//go:build integration

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait for something that takes a second on a quiet
// machine. It is long because a busy machine must not fail a test.
const patience = 5 * time.Minute

// readyLine is what a collector logs when all its components have started.
const readyLine = "Everything is ready. Begin running and processing data."

// A collector is a running otelcol.
type collector struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string // working folder, removed with the test
	config string // path of the configuration
	logs   string // path of what it prints
	exited chan struct{}
}

// launch starts a collector and does not wait until it is ready. The collector
// is killed if it still runs when the test ends. config is merged over what is in
// files, whose paths are absolute.
func launch(t *testing.T, config string, files ...string) *collector {
	t.Helper()
	dir := t.TempDir()
	c := &collector{
		t:      t,
		dir:    dir,
		config: filepath.Join(dir, "config.yaml"),
		logs:   filepath.Join(dir, "otelcol.log"),
		exited: make(chan struct{}),
	}
	require.NoError(t, os.WriteFile(c.config, []byte(config), 0o600))
	logs, err := os.Create(c.logs)
	require.NoError(t, err)
	defer func() { _ = logs.Close() }()

	c.cmd = exec.Command(otelcolPath)
	for _, file := range append(files, c.config) {
		c.cmd.Args = append(c.cmd.Args, "--config", file)
	}
	c.cmd.Dir = dir
	c.cmd.Stdout, c.cmd.Stderr = logs, logs
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		<-c.exited
		if t.Failed() {
			t.Logf("the collector printed:\n%s", c.log())
		}
	})
	return c
}

// start starts a collector and waits until all its components have started.
func start(t *testing.T, config string, files ...string) *collector {
	t.Helper()
	c := launch(t, config, files...)
	c.waitLog(readyLine, 1)
	return c
}

// log returns all that the collector has printed so far.
func (c *collector) log() string {
	text, err := os.ReadFile(c.logs)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// waitLog waits until the collector has printed text n times.
func (c *collector) waitLog(text string, n int) {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%q in the log, %d times", text, n), func() bool {
		if strings.Count(c.log(), text) >= n {
			return true
		}
		select {
		case <-c.exited:
			c.t.Fatalf("the collector ended: %v", c.cmd.ProcessState)
		default:
		}
		return false
	})
}

func (c *collector) signal(s syscall.Signal) {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(s))
}

// interrupt ends the collector as Ctrl-C does, waits, and requires success.
func (c *collector) interrupt() {
	c.t.Helper()
	c.signal(syscall.SIGINT)
	c.wait()
	require.Zero(c.t, c.cmd.ProcessState.ExitCode(), "exit code after an interrupt")
}

func (c *collector) wait() {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		_ = c.cmd.Process.Signal(syscall.SIGQUIT) // prints where every goroutine waits
		c.t.Fatal("the collector does not end")
	}
}

// path is the absolute name of a file in the collector's folder.
func (c *collector) path(name string) string { return filepath.Join(c.dir, name) }

// validate runs `otelcol validate` and returns what it printed and its exit code.
func validate(t *testing.T, config string) (string, int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	return validateFile(t, path)
}

func validateFile(t *testing.T, path string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(otelcolPath, "validate", "--config", path)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// eventually waits until condition holds and fails the test if it never does.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
