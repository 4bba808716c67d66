// Package workloads builds the programs of examples/workloads for tests: small
// programs whose profile is known beforehand. Their sources say what the right
// answer is. It serves tests only and needs gcc.
package workloads

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// A Workload is one way to build one of the C programs.
type Workload struct {
	source string
	flags  []string
}

// The workloads. Flags are those that the known answer of the source asks for.
var (
	Burn           = Workload{"burn.c", []string{"-O1", "-fno-omit-frame-pointer"}}
	CPUBound       = Workload{"cpu_bound.c", []string{"-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls"}}
	CPUBoundNoFP   = Workload{"cpu_bound.c", []string{"-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"}}
	ZeroReader     = Workload{"zero_reader.c", []string{"-O1", "-fno-omit-frame-pointer"}}
	SpinShort      = Workload{"spin_short.c", []string{"-O1", "-fno-omit-frame-pointer"}}
	NodeBusyScript = "node_busy.js"
	PythonScript   = "python_busy.py"
)

// Build compiles w into a folder of the test's own and returns the path of the
// program, whose base name is name: processes of tests that run at the same
// time can so be told apart. At most 15 bytes of it become the thread's name.
func (w Workload) Build(tb testing.TB, name string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), name)
	args := append([]string{"-g", "-o", out, Source(w.source)}, w.flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		tb.Fatalf("gcc %v: %v\n%s(make test installs gcc)", args, err, msg)
	}
	return out
}

// Source returns the path of a file of examples/workloads.
func Source(name string) string {
	_, self, _, ok := runtime.Caller(0)
	if !ok {
		panic("workloads: no caller information")
	}
	return filepath.Join(filepath.Dir(self), "..", "..", "examples", "workloads", name)
}

// Start runs a program until the test ends and returns its process ID. The
// program's output goes to the test's log when it fails early.
func Start(tb testing.TB, path string, args ...string) int {
	tb.Helper()
	cmd := exec.Command(path, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(fmt.Errorf("start workload: %w", err))
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}
