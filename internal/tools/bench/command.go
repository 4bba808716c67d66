//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// command measures what users of `flametel record` wait for and pay, beside the
// goals: a recording of a busy host at 99 Hz that is ended by Ctrl-C.
func command(ctx context.Context, s settings) error {
	var load measure.Group
	defer load.Stop()
	if err := occupy(&load, s.dir); err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	var ends, cpu, steady, launch []float64
	phases := map[string][]float64{}
	var order []string
	for range s.rounds {
		r, err := commandRound(ctx, s)
		if err != nil {
			return err
		}
		ends = append(ends, float64(r.end.Milliseconds()))
		cpu = append(cpu, 100*r.report.OwnCPUSeconds/r.report.Seconds)
		steady = append(steady, r.steady)
		for _, p := range r.report.Phases {
			if phases[p.Phase] == nil {
				order = append(order, p.Phase)
			}
			phases[p.Phase] = append(phases[p.Phase], 1000*p.Seconds)
		}
		began, err := untilSampling(ctx, s.dir)
		if err != nil {
			return err
		}
		launch = append(launch, float64(began.Milliseconds()))
	}
	rows := [][]string{{"flametel record, busy host, 99 Hz", "median", "spread", "goal"}}
	row := func(what, unit string, values []float64, goal string) {
		format := "%.0f " + unit
		if unit == "%" {
			format = "%.2f %%"
		}
		rows = append(rows, []string{what, fmt.Sprintf(format, measure.Median(values)), measure.Spread(values), goal})
	}
	row("from start until a command runs", "ms", launch, "300 ms")
	row(fmt.Sprintf("Ctrl-C after %v to the finished SVG", s.duration), "ms", ends, "1000 ms")
	for _, name := range order {
		row("  "+strings.ReplaceAll(name, s.dir+"/", ""), "ms", phases[name], "")
	}
	row("own CPU, of one CPU, after the first 5 s", "%", steady, "1 %")
	row("own CPU, of one CPU, start and end included", "%", cpu, "")
	return measure.Table(s.out, rows)
}

// recordReport is what the benchmark reads of the summary for programs.
type recordReport struct {
	Seconds       float64 `json:"seconds"`
	OwnCPUSeconds float64 `json:"own_cpu_seconds"`
	Phases        []struct {
		Phase   string  `json:"phase"`
		Seconds float64 `json:"seconds"`
	} `json:"phases"`
}

type commandResult struct {
	end    time.Duration // from the signal to the end of the program
	steady float64       // percent of one CPU
	report recordReport
}

// commandRound makes one recording.
func commandRound(ctx context.Context, s settings) (r commandResult, err error) {
	file := filepath.Join(s.dir, "command.svg")
	cmd := exec.CommandContext(ctx, "bin/flametel", "record", "-d", "3600", "-q", "--json", "-o", file)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("%w (make build makes the programs)", err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	settled := min(warmUp, s.duration/2)
	if err := pause(ctx, settled); err != nil {
		return r, err
	}
	before, err := measure.CPU(cmd.Process.Pid)
	if err != nil {
		return r, fmt.Errorf("flametel record ended by itself: %w\n%s", err, messages.String())
	}
	if err := pause(ctx, s.duration-settled); err != nil {
		return r, err
	}
	after, err := measure.CPU(cmd.Process.Pid)
	if err != nil {
		return r, err
	}
	r.steady = 100 * (after - before).Seconds() / (s.duration - settled).Seconds()
	begin := time.Now()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		return r, err
	}
	_ = cmd.Wait()
	r.end = time.Since(begin)
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		return r, fmt.Errorf("flametel record ended with code %s\n%s", strconv.Itoa(code), messages.String())
	}
	if _, err := os.Stat(file); err != nil {
		return r, err
	}
	return r, json.Unmarshal(out.Bytes(), &r.report)
}
