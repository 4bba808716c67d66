//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A tool is a profiler of the whole host at 99 Hz that runs until interrupted.
type tool struct {
	name    string
	command func(dir string) (*exec.Cmd, error)
}

var (
	flametelRecord = tool{"flametel record", func(dir string) (*exec.Cmd, error) {
		return exec.Command("bin/flametel", "record", "-d", "3600", "-F", "99", "-o", filepath.Join(dir, "profile.svg")), nil
	}}
	otelcol = tool{"otelcol", func(dir string) (*exec.Cmd, error) {
		config := filepath.Join(dir, "collector.yaml")
		text := fmt.Sprintf(otelcolConfig, filepath.Join(dir, "{type}-{start}.svg"))
		return exec.Command("bin/otelcol", "--config", config), os.WriteFile(config, []byte(text), 0o600)
	}}
	perfRecord = tool{"perf record -a -g", func(dir string) (*exec.Cmd, error) {
		return exec.Command("perf", "record", "-q", "-a", "-g", "-F", "99", "-o", filepath.Join(dir, "perf.data")), nil
	}}
)

const otelcolConfig = `
receivers: {ebpf_profiler: {}}
processors: {memory_limiter: {check_interval: 1s, limit_mib: 256}}
exporters: {flamegraph: {path: "%s", interval: 60s}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], processors: [memory_limiter], exporters: [flamegraph]}}
`

// A running tool.
type running struct {
	name   string
	cmd    *exec.Cmd
	output *output
	ended  chan struct{}
	err    error // of Wait, once ended is closed
}

// output is what a tool has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns all of it.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (t tool) start(dir string) (*running, error) {
	cmd, err := t.command(dir)
	if err != nil {
		return nil, err
	}
	r := &running{name: t.name, cmd: cmd, output: &output{}, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = r.output, r.output
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make build makes the programs)", t.name, err)
	}
	go func() {
		defer close(r.ended)
		r.err = cmd.Wait()
	}()
	return r, nil
}

// stop interrupts the tool, as Ctrl-C does, and returns how long it took to end.
func (r *running) stop() (time.Duration, error) {
	select {
	case <-r.ended:
		return 0, fmt.Errorf("%s ended by itself: %w\n%s", r.name, r.err, r.output)
	default:
	}
	begin := time.Now()
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return 0, err
	}
	select {
	case <-r.ended:
		return time.Since(begin), nil
	case <-time.After(time.Minute):
		r.kill()
		return 0, fmt.Errorf("%s does not end", r.name)
	}
}

// kill is for what an error left behind; it does nothing after stop.
func (r *running) kill() {
	_ = r.cmd.Process.Kill()
	<-r.ended
}
