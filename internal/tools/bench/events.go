//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/internal/tools/measure"
)

// A column is what looks at the victims.
type column struct {
	tool
	// ready is what it prints when it looks; empty: it prints nothing, and has
	// the time settle.
	ready string
	// wrap is the command that a victim is started by, for what looks at its own
	// children only. Others have a tool.
	wrap []string
	// attach looks from within this process, instead of a tool.
	attach func() (detach func() error, err error)
}

// settle is how long those who look have for getting ready.
const settle = 1500 * time.Millisecond

// minRounds: fewer have no steady median.
const minRounds = 9

const nothing = "nothing"

// columns are nothing, each kind of profile by itself, kinds together, and the
// same questions asked of others.
func columns() []column {
	list := []column{
		{tool: tool{name: nothing}},
		floor("programs that do nothing at each call", false),
		floor("programs that read the clock at each call", true),
		kinds("syscalls", "syscalls: {}"),
		kinds("syscalls, a tenth of the time", "syscalls: {share: 0.1}"),
		kinds("file_opens", "file_opens: {}"),
		kinds("file_reads", "file_reads: {}"),
		kinds("off_cpu", "off_cpu: {}"),
		kinds("off_cpu, every stack", "off_cpu: {stack_interval: 0s}"),
		kinds("page_faults", "page_faults: {}"),
		kinds("lock_contention", "lock_contention: {}"),
		kinds("kernel_allocations", "kernel_allocations: {}"),
		kinds("tcp_retransmits", "tcp_retransmits: {}"),
		kinds("syscalls + off_cpu + cpu", "syscalls: {}, off_cpu: {}, cpu: {enabled: true}"),
		script("bpftrace: calls, count and time", `
			tracepoint:raw_syscalls:sys_enter { @start[tid] = nsecs; }
			tracepoint:raw_syscalls:sys_exit /@start[tid]/ {
				@count[pid, args->id] = count(); @ns[pid, args->id] = sum(nsecs - @start[tid]); delete(@start[tid]); }`),
		script("bpftrace: opens by path", `
			tracepoint:syscalls:sys_enter_open, tracepoint:syscalls:sys_enter_openat { @file[tid] = args->filename; @start[tid] = nsecs; }
			tracepoint:syscalls:sys_exit_open, tracepoint:syscalls:sys_exit_openat /@start[tid]/ {
				@ns[pid, args->ret < 0 ? args->ret : 0, str(@file[tid])] = sum(nsecs - @start[tid]); delete(@file[tid]); delete(@start[tid]); }`),
		script("bpftrace: off-CPU by stack", `
			tracepoint:sched:sched_switch {
				@stack[args->prev_pid] = kstack; @user[args->prev_pid] = ustack; @off[args->prev_pid] = nsecs;
				if (@off[args->next_pid]) {
					@ns[args->next_comm, @user[args->next_pid], @stack[args->next_pid]] = sum(nsecs - @off[args->next_pid]); }
				delete(@off[args->next_pid]); delete(@stack[args->next_pid]); delete(@user[args->next_pid]); }`),
		{tool: tool{"perf trace -s -a", func(dir string) (*exec.Cmd, error) {
			return exec.Command("perf", "trace", "-s", "-a", "-o", filepath.Join(dir, "trace")), nil
		}}},
		{tool: tool{name: "strace -f -c"}, wrap: []string{"strace", "-f", "-c", "-o", "/dev/null"}},
	}
	return list
}

// eventsConfig is a collector that names everything and sends it nowhere.
const eventsConfig = `
receivers: {ebpf_profiler: {cpu: {enabled: false}, %s}}
exporters: {nop: {}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], exporters: [nop]}}
`

// kinds is our collector with some kinds of profiles.
func kinds(name, settings string) column {
	config := fmt.Sprintf(eventsConfig, settings)
	if strings.Contains(settings, "cpu: {enabled") {
		config = strings.Replace(config, "cpu: {enabled: false}, ", "", 1)
	}
	return column{ready: "Everything is ready", tool: tool{name, func(dir string) (*exec.Cmd, error) {
		path := filepath.Join(dir, "collector.yaml")
		return exec.Command("bin/otelcol", "--config", path), os.WriteFile(path, []byte(config), 0o600)
	}}}
}

// floor is what looking at the begin and the end of calls costs at the least.
func floor(name string, clock bool) column {
	return column{tool: tool{name: name}, attach: func() (func() error, error) { return attachFloor(clock) }}
}

// script is a program of bpftrace. What it counted is dropped, not printed.
func script(name, text string) column {
	text += " END { clear(@ns); }"
	return column{ready: "Attach", tool: tool{name, func(string) (*exec.Cmd, error) {
		return exec.Command("bpftrace", "-e", text), nil
	}}}
}

// A victim is a program that events are frequent in. It returns one number for
// each of its figures, or none if it cannot be started by wrap.
type victim struct {
	figures []string
	run     func(ctx context.Context, wrap []string) ([]float64, error)
}

// events measures what looking at events costs those who have them: each
// victim with nothing attached and with each of columns, in turn and round by
// round. The ratios are those within one round.
func events(ctx context.Context, s settings) error {
	victims, stop, err := eventVictims(s)
	if err != nil {
		return err
	}
	defer stop()
	s.rounds = max(s.rounds, minRounds)
	list := slices.DeleteFunc(columns(), func(c column) bool { return c.name != nothing && !s.only.MatchString(c.name) })
	measured := make([]figures, len(list)+1) // by column
	for i := range measured {
		measured[i] = figures{}
	}
	for round := range s.rounds {
		for i, c := range list {
			if err := c.look(ctx, s, victims, measured[i]); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		// By now all of them have been there and gone.
		if err := list[0].look(ctx, s, victims, measured[len(list)]); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, s.rounds)
	}
	return eventTable(s, append(list, column{tool: tool{name: "nothing again, all detached"}}), victims, measured)
}

// figures are numbers by name and round.
type figures map[string][]float64

// look runs every victim once while the column looks.
func (c column) look(ctx context.Context, s settings, victims []victim, to figures) (err error) {
	if c.attach != nil {
		detach, failed := c.attach()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, detach()) }()
	}
	if c.command != nil {
		dir, err := os.MkdirTemp(s.dir, "events")
		if err != nil {
			return err
		}
		r, err := c.start(dir)
		if err != nil {
			return err
		}
		defer r.kill()
		if err := r.waitReady(ctx, c.ready); err != nil {
			return err
		}
		defer func() { _, _ = r.stop() }()
	} else if err := pause(ctx, settle); err != nil { // the same rest for all
		return err
	}
	for _, v := range victims {
		numbers, err := v.run(ctx, c.wrap)
		if err != nil {
			return fmt.Errorf("%s: %w", v.figures[0], err)
		}
		for i, n := range numbers {
			to[v.figures[i]] = append(to[v.figures[i]], n)
		}
	}
	return ctx.Err()
}

// waitReady waits until the tool has printed text, and a little longer.
func (r *running) waitReady(ctx context.Context, text string) error {
	for range 600 {
		if strings.Contains(r.output.String(), text) {
			return pause(ctx, settle)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not get ready:\n%s", r.name, r.output)
}

func eventTable(s settings, list []column, victims []victim, measured []figures) error {
	header := []string{"what looks"}
	for _, v := range victims {
		header = append(header, v.figures...)
	}
	rows := [][]string{header}
	for i, c := range list {
		row := []string{c.name}
		for _, name := range header[1:] {
			var ratios []float64
			for round, n := range measured[i][name] {
				ratios = append(ratios, n/measured[0][name][round])
			}
			cell := "-"
			if len(ratios) > 0 {
				cell = fmt.Sprintf("%.0f, %.2f", measure.Median(measured[i][name]), measure.Median(ratios))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	fmt.Fprintf(s.out, "Median of %d rounds, and the median of the ratios to nothing in the same round.\n\n", s.rounds)
	return measure.Table(s.out, rows)
}

// eventVictims are the programs.
func eventVictims(s settings) (victims []victim, stop func(), err error) {
	program, err := measure.Compile(s.dir, "events")
	if err != nil {
		return nil, nil, err
	}
	for _, v := range []struct{ what, name string }{
		{"open", "open + close"}, {"getppid", "getppid"}, {"read", "read of a byte"}, {"pipe", "pipe there and back"},
	} {
		victims = append(victims, victim{[]string{v.name + ", CPU ns"}, func(ctx context.Context, wrap []string) ([]float64, error) {
			command := append(append([]string{}, wrap...), program, v.what)
			out, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
			return []float64{n}, err
		}})
	}
	server, stop, err := serve(s.dir)
	if err != nil {
		return nil, nil, err
	}
	victims = append(victims,
		victim{[]string{"nginx, requests/s", "nginx, CPU us a request"}, func(ctx context.Context, wrap []string) ([]float64, error) {
			if wrap != nil {
				return nil, nil // the server runs already
			}
			round, err := server.load(ctx, s.duration)
			return []float64{round.rate, round.cpu.Seconds() * 1e6}, err
		}},
		victim{[]string{"gcc -j2 of four files, CPU ms"}, func(ctx context.Context, wrap []string) ([]float64, error) {
			used, err := compileFour(ctx, s.dir, wrap)
			return []float64{float64(used.Microseconds()) / 1e3}, err
		}})
	return victims, stop, nil
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
	command := append(append([]string{}, wrap...), "sh", "-c", text)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}
