//go:build linux

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// A victim is a program that events are frequent in. It returns one number for
// each of its figures, or none if it cannot be started by wrap.
type victim struct {
	figures []string
	run     func(ctx context.Context, wrap []string) ([]float64, error)
}

// eventVictims are the programs that the command line wants.
func eventVictims(s settings) (victims []victim, stop func(), err error) {
	program, err := measure.Compile(s.dir, "events")
	if err != nil {
		return nil, nil, err
	}
	server, stop := webServer{}, func() {}
	if slices.ContainsFunc(webFigures, s.victims.MatchString) {
		if server, stop, err = serve(s.dir); err != nil {
			return nil, nil, err
		}
	}
	victims = []victim{
		loop("open + close", program, "open"),
		loop("getppid", program, "getppid"),
		loop("read of a byte", program, "read"),
		loop("pipe there and back", program, "pipe"),
		loop("touch of a page", program, "fault"),
		loop("futex there and back", program, "futex"),
		loop("datagram of 12 kB", program, "datagram"),
		web(server, s.duration),
		compiler(s.dir),
	}
	victims = slices.DeleteFunc(victims, func(v victim) bool { return !slices.ContainsFunc(v.figures, s.victims.MatchString) })
	if len(victims) == 0 {
		return nil, nil, fmt.Errorf("no victim is called %q", s.victims)
	}
	return victims, stop, nil
}

// loop is a program that does what alone over and over.
func loop(name, program, what string) victim {
	return victim{[]string{name + ", CPU ns"}, func(ctx context.Context, wrap []string) ([]float64, error) {
		command := append(slices.Clone(wrap), program, what)
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
		if err != nil {
			return nil, err
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		return []float64{n}, err
	}}
}

var webFigures = []string{"nginx, requests/s", "nginx, CPU us a request"}

func web(server webServer, duration time.Duration) victim {
	return victim{webFigures, func(ctx context.Context, wrap []string) ([]float64, error) {
		if wrap != nil {
			return nil, nil // the server runs already
		}
		round, err := server.load(ctx, duration)
		return []float64{round.rate, round.cpu.Seconds() * 1e6}, err
	}}
}

func compiler(dir string) victim {
	return victim{[]string{"gcc -j2 of four files, CPU ms"}, func(ctx context.Context, wrap []string) ([]float64, error) {
		used, err := compileFour(ctx, dir, wrap)
		return []float64{float64(used.Microseconds()) / 1e3}, err
	}}
}

// compileFour compiles four files, two at a time, and returns the CPU time of
// all processes.
func compileFour(ctx context.Context, dir string, wrap []string) (time.Duration, error) {
	source, err := measure.Workload("cpu_bound.c")
	if err != nil {
		return 0, err
	}
	object := filepath.Join(dir, "object")
	text := fmt.Sprintf(`for i in 1 2 3 4; do echo $i; done | xargs -P 2 -I N gcc -O2 -c -o %s.N.o %s`, object, source)
	command := append(slices.Clone(wrap), "sh", "-c", text)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
