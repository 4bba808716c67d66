//go:build linux

// Program init is the first process of the machine that kernels starts: it
// records workloads with known answers and prints the result.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, m := range [][2]string{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"debugfs", "/sys/kernel/debug"}, {"tmpfs", "/tmp"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, ""); err != nil {
			fmt.Println("mount", m[1], err)
		}
	}
	// The kernel passes on what it does not know of its command line.
	for _, part := range os.Args[1:] {
		switch part {
		case "record":
			beside(record)
		case "events":
			beside(recordEvents)
		case "hooks":
			countCalls()
		}
	}
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Println("power off:", err)
	}
}

// beside does something while the workloads run.
func beside(do func()) {
	var started []*exec.Cmd
	for _, name := range []string{"burn", "calls", "protected"} {
		cmd := exec.Command("/bin/"+name, "600")
		if err := cmd.Start(); err != nil {
			fmt.Println("start:", err)
			continue
		}
		started = append(started, cmd)
	}
	time.Sleep(time.Second)
	do()
	for _, cmd := range started {
		_ = cmd.Process.Kill()
	}
}

// record records the host and a command.
func record() {
	run("/bin/flametel", "record", "-d", "10", "-o", "/tmp/host.folded")
	show("/tmp/host.folded")
	run("/bin/flametel", "record", "-q", "-o", "/tmp/command.folded", "--", "/bin/burn", "3")
	show("/tmp/command.folded")
}

// countCalls runs hooks, and makes the files that its programs open.
func countCalls() {
	for _, name := range []string{"/etc/passwd", "/etc/hostname"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			fmt.Println("failed:", err)
		}
	}
	run("/bin/hooks", "/bin")
}

// recordEvents records every kind of events while a program runs again and
// again, and says how many stacks there are of each.
func recordEvents() {
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = exec.Command("/bin/burn", "0").Run()
			}
		}
	}()
	// One after the other: an emulated machine has no time for all at once.
	for _, kind := range []string{
		"off_cpu", "syscalls", "file_opens", "file_reads", "page_faults", "lock_contention", "kernel_allocations", "tcp_retransmits",
	} {
		file := "/tmp/" + kind + ".folded"
		run("/bin/flametel", "record", "-v", "-d", "2", "-o", file, "--type", kind)
		text, err := os.ReadFile(file)
		if err != nil {
			fmt.Println("failed:", err)
			continue
		}
		fmt.Printf("EVENTS %s %d\n", kind, strings.Count(string(text), "\n"))
	}
	for _, args := range [][]string{
		{"syscalls"}, {"opens"}, {"reads"}, {"offcpu"}, {"allocations", "--min-size", "4096"}, {"retransmits"},
	} {
		trace(args...)
	}
	close(stop)
}

// nothing is the exit code of flametel when there was nothing to see.
const nothing = 3

// trace runs flametel trace and says how many lines it prints.
func trace(args ...string) {
	cmd := exec.Command("/bin/flametel", append([]string{"trace", "-d", "2", "--json"}, args...)...)
	cmd.Stderr = os.Stdout
	text, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != nothing {
		fmt.Println("failed:", cmd.Args, err)
	}
	fmt.Printf("TRACE %s %d\n", args[0], strings.Count(string(text), "\n"))
}

func run(name string, args ...string) {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != nothing {
		fmt.Println("failed:", name, args, err)
	}
}

// show prints a file between marks that the other side looks for.
func show(name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		fmt.Println("failed:", err)
	}
	fmt.Printf("\nBEGIN %s\n%s\nEND %s\n", name, text, name)
}
