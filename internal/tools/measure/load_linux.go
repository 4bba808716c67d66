package measure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// A Group is processes that are stopped together, with all their children.
type Group struct {
	// Dir is the working folder of the processes. Node.js leaves a log there.
	Dir      string
	commands []*exec.Cmd
}

// Start adds a running process. Its output is dropped, its errors are shown.
func (g *Group) Start(name string, args ...string) (pid int, err error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = g.Dir
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", name, err)
	}
	g.commands = append(g.commands, cmd)
	return cmd.Process.Pid, nil
}

// Stop kills the processes and waits for them.
func (g *Group) Stop() {
	for _, cmd := range g.commands {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)) // of a JIT compiler
	}
	g.commands = nil
}

// workloads is the folder of the example programs, from the module's folder, in
// which the tools are run.
const workloads = "examples/workloads"

// Workload returns the absolute path of a file of the example programs.
func Workload(name string) (string, error) { return filepath.Abs(filepath.Join(workloads, name)) }

// Compile builds a C program of the examples into dir with frame pointers and
// returns its path.
func Compile(dir, name string) (string, error) {
	source, err := Workload(name + ".c")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, name)
	cmd := exec.Command("gcc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", out, source)
	if msg, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc %s: %w\n%s", name, err, msg)
	}
	return out, nil
}
