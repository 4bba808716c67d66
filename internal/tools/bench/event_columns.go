//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
