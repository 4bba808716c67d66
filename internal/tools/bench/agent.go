//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// warmUp is left out of the figures: reading the symbols of what runs already.
const warmUp = 5 * time.Second

// agent measures what the products use while they profile the whole host.
func agent(ctx context.Context, s settings) error {
	rows := [][]string{{"host", "tool", "CPU seconds", "over", "% of a CPU", "resident mean / peak MiB", "start and first 5 s, CPU seconds"}}
	for _, host := range []string{hostIdle, hostBusy, hostBirths} {
		for _, t := range []tool{flametelRecord, otelcol} {
			row, err := agentRow(ctx, s, t, host)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
	}
	return measure.Table(s.out, rows)
}

// What the host does meanwhile.
const (
	hostIdle   = "idle"
	hostBusy   = "busy"
	hostBirths = "50 births/s"
)

func agentRow(ctx context.Context, s settings, t tool, host string) ([]string, error) {
	dir, err := os.MkdirTemp(s.dir, "agent")
	if err != nil {
		return nil, err
	}
	var load measure.Group
	defer load.Stop()
	switch host {
	case hostBusy:
		if err := occupy(&load, dir); err != nil {
			return nil, err
		}
	case hostBirths:
		births := bear(50)
		defer births()
	}

	r, err := t.start(dir)
	if err != nil {
		return nil, err
	}
	defer r.kill()
	if err := pause(ctx, warmUp); err != nil {
		return nil, err
	}
	first, err := measure.CPU(r.cmd.Process.Pid)
	if err != nil {
		return nil, fmt.Errorf("%s ended by itself: %w\n%s", t.name, err, r.output)
	}
	watched, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	usage, err := measure.Watch(watched, r.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	if _, err := r.stop(); err != nil {
		return nil, err
	}
	return []string{
		host, t.name,
		fmt.Sprintf("%.2f", usage.CPU.Seconds()),
		fmt.Sprintf("%.0f s", usage.Elapsed.Seconds()),
		fmt.Sprintf("%.2f", usage.CPUPercent()),
		fmt.Sprintf("%.0f / %.0f", mebibytes(usage.MeanBytes), mebibytes(usage.MaxBytes)),
		fmt.Sprintf("%.2f", first.Seconds()),
	}, ctx.Err()
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

// bear starts short-lived processes, so many a second, until the function that
// it returns is called.
func bear(perSecond int) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second / time.Duration(perSecond))
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				_ = exec.Command("ls", "/").Run() // what it finds is of no interest
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// occupy keeps every CPU busy with compiled code, an interpreter, a JIT and
// system calls.
func occupy(load *measure.Group, dir string) error {
	const forever = "3600"
	python, err := measure.Workload("python_busy.py")
	if err != nil {
		return err
	}
	node, err := measure.Workload("node_busy.js")
	if err != nil {
		return err
	}
	load.Dir = dir
	commands := [][]string{
		{"python3", python, forever},
		{"node", "--perf-basic-prof", node, forever},
		{"dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "status=none"},
	}
	burn, err := measure.Compile(dir, "burn")
	if err != nil {
		return err
	}
	for range runtime.NumCPU() {
		commands = append(commands, []string{burn, forever})
	}
	for _, c := range commands {
		if _, err := load.Start(c[0], c[1:]...); err != nil {
			return fmt.Errorf("load %s: %w", strings.Join(c, " "), err)
		}
	}
	return nil
}
