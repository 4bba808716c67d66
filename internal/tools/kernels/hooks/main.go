//go:build linux

// Program hooks counts known opens and reads, once by the functions of the kernel
// and once by the tracepoints of all calls, and measures what either costs calls. The argument is the folder of the programs that make them.
// It runs on the machines that kernels starts.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
)

// ways are what counts as missing for each: without one of the functions,
// tracepoints are left.
func ways() map[string][]string {
	some := map[string][]string{
		"amd64": {"__x64_sys_preadv2", "__ia32_sys_openat2"},
		"arm64": {"__arm64_sys_preadv2", "__arm64_sys_openat2"},
	}
	return map[string][]string{"functions": nil, "tracepoints": some[runtime.GOARCH]}
}

// kinds look at each call with its stack: no count is a share of another.
var kinds = map[string]*bpf.Probe{
	"file_opens": bpf.FileOpens(bpf.FileOpenOptions{}),
	"file_reads": bpf.FileReads(bpf.FileReadOptions{}),
}

func main() {
	programs := os.Args[1]
	dir, err := os.MkdirTemp("", "hooks")
	file := filepath.Join(dir, "file")
	if err = errors.Join(err, os.WriteFile(file, make([]byte, 1<<20), 0o600)); err != nil {
		fmt.Println("failed:", err)
		return
	}
	defer os.RemoveAll(dir)
	for way, without := range ways() {
		for _, run := range [][3]string{
			{"file_opens", "opens", dir}, {"file_reads", "reads", file},
			{"file_opens", "calls32", file}, {"file_reads", "calls32", file},
		} {
			program := filepath.Join(programs, run[1])
			if _, err := os.Stat(program); err != nil {
				continue // there are no such programs for this machine
			}
			counted, err := count(kinds[run[0]], without, program, run[2])
			if err != nil {
				fmt.Println("failed:", run, way, err)
			}
			fmt.Printf("HOOKS %s %s %s = %s\n", run[0], run[1], way, counted)
		}
	}
	for kind := range kinds {
		if err := measure(kind, file); err != nil {
			fmt.Println("failed:", kind, err)
		}
	}
	// The kernel lets go of them a little later.
	for end := time.Now().Add(20 * time.Second); len(left()) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Println("HOOKS left =", strings.Join(left(), " "))
}

// start hangs a kind on what is there, and prints what that is.
func start(probe *bpf.Probe, without []string, filter bool) (*bpf.Tracer, error) {
	return bpf.NewTracer(probe, bpf.Options{
		DrainInterval: time.Second, FilterTargets: filter, Without: without,
		OnCallHooks: func(refused error) {
			if refused != nil {
				fmt.Println("hooks: no functions:", refused)
			}
		},
	})
}

// count returns the calls of a program as number/error:count.
func count(probe *bpf.Probe, without []string, program, arg string) (string, error) {
	t, err := start(probe, without, true)
	if err != nil {
		return "", err
	}
	defer t.Close()
	cmd := exec.Command(program, arg)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return "", err
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	target, err := targetOf(cmd.Process.Pid)
	if err != nil {
		return "", err
	}
	if err := t.SetTarget(target, bpf.Keep); err != nil {
		return "", err
	}
	_, _ = io.WriteString(in, "\n")
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", err
	}
	samples, stats, err := t.Drain()
	if err != nil {
		return "", err
	}
	if stats.Lost() > 0 {
		return "", fmt.Errorf("%d were lost", stats.Lost())
	}
	counts := make(map[string]uint64)
	for i := range samples {
		s := &samples[i]
		call := strconv.Itoa(int(uint32(s.Detail)))
		if s.Detail&bpf.SyscallCompat != 0 {
			call = "c" + call
		}
		if errno := s.Detail >> bpf.SyscallErrnoShift & bpf.SyscallErrnoMask; errno != 0 {
			call += "/" + strconv.Itoa(int(errno))
		}
		counts[call] += s.Count
	}
	var texts []string
	for call, n := range counts {
		texts = append(texts, fmt.Sprintf("%s:%d", call, n))
	}
	slices.Sort(texts)
	return strings.Join(texts, " "), nil
}

// targetOf names a process by its start, the 22nd field of its stat.
func targetOf(pid int) (bpf.Target, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return bpf.Target{}, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	ticks, err := strconv.ParseUint(fields[20], 10, 64)
	return bpf.Target{PID: uint32(pid), StartTicks: ticks}, err
}

const (
	rounds = 3
	calls  = 20_000
	// settled is how long the kernel still works after programs were detached.
	settled = time.Second
)

// measure alternates between both ways and none, and prints the medians of the
// time of calls, and of attaching and detaching.
func measure(kind, file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	times := make(map[string][]time.Duration)
	timed := func(of string, do func()) {
		at := time.Now()
		do()
		times[of] = append(times[of], time.Since(at))
	}
	victims := func(way string) {
		timed("getppid "+way, func() {
			for range calls {
				_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
			}
		})
		timed("read "+way, func() {
			buf := make([]byte, 1)
			for range calls {
				_, _ = unix.Pread(fd, buf, 0)
			}
		})
	}
	tracers := make(map[string]*bpf.Tracer)
	for way, without := range ways() {
		t, err := start(kinds[kind], without, false)
		if err != nil {
			return err
		}
		defer t.Close()
		t.Detach()
		tracers[way] = t
	}
	for range rounds {
		victims("bare")
		for way, t := range tracers {
			timed("attach to "+way, func() { err = errors.Join(err, t.Attach()) })
			victims(way)
			timed("detach from "+way, t.Detach)
			time.Sleep(settled)
			victims(way + " detached")
		}
	}
	for _, of := range slices.Sorted(maps.Keys(times)) {
		m := median(times[of])
		victim, _, _ := strings.Cut(of, " ")
		if bare := times[victim+" bare"]; bare != nil {
			fmt.Printf("hooks: %s: %s: %v, %.2f\n", kind, of, m/calls, float64(m)/float64(median(bare)))
			continue
		}
		fmt.Printf("hooks: %s: %s: %v\n", kind, of, m.Round(100*time.Microsecond))
	}
	return err
}

func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// left lists the programs of ours that the kernel still has.
func left() (names []string) {
	var id ebpf.ProgramID
	for {
		next, err := ebpf.ProgramGetNextID(id)
		if err != nil {
			return names
		}
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // gone meanwhile
		}
		if info, err := p.Info(); err == nil && (strings.HasPrefix(info.Name, "reads_") || strings.HasPrefix(info.Name, "opens_")) {
			names = append(names, info.Name)
		}
		_ = p.Close()
	}
}
