//go:build integration && linux

package receiver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flametel/flametel/receiver/internal/window"
)

// write puts a file into a new folder and returns its name.
func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// startRuntime starts a program of a runtime, whose map goes with it.
func startRuntime(t *testing.T, dir, program string, args ...string) int {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir // some leave logs there
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid))
	})
	return cmd.Process.Pid
}

const nodeSource = `
function hotFunction(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
function caller() { return hotFunction(50000) + hotFunction(50001); }
for (const end = Date.now() + 600000; Date.now() < end;) caller();
`

// V8 compiles a function again and again. It is one function nevertheless.
func TestFunctionOfNodeHasOneName(t *testing.T) {
	script := write(t, "busy script.js", nodeSource)
	pid := startRuntime(t, filepath.Dir(script), "node", "--perf-basic-prof", "--no-turbo-inlining", script)
	w := record(t, func(c *Config) {
		c.Targets.PIDs = []int{pid}
		c.CPU.Frequency = 499
	}, enough(pid, 1000))
	_, samples := w.of(pid)
	hot, called := int64(0), int64(0)
	for _, s := range samples {
		for i, f := range s.frames {
			if !strings.Contains(f, "hotFunction") {
				continue
			}
			assert.Equal(t, "hotFunction", f, "neither tier nor file in the name")
			if slices.Contains(s.frames, window.TruncatedName) {
				break // there were no unwind tables yet
			}
			if !assert.Less(t, i+1, len(s.frames), "nothing called it") {
				break
			}
			if s.frames[i+1] == "Builtins_InterpreterEntryTrampoline" {
				break // the caller is not compiled yet
			}
			hot += s.value
			if slices.Contains(s.frames[i+1:], "caller") {
				called += s.value
			}
			break
		}
	}
	all, _ := w.of(pid)
	assert.Greater(t, float64(hot)/float64(all), 0.5)
	assert.Greater(t, float64(called)/float64(hot), 0.95)
}

// A runtime that tells nothing is told of once, whatever the number of samples,
// processes and windows.
func TestRuntimeWithoutNamesIsToldOfOnce(t *testing.T) {
	script := write(t, "busy.js", nodeSource)
	first := startRuntime(t, filepath.Dir(script), "node", script)
	second := startRuntime(t, filepath.Dir(script), "node", script)
	core, logs := observer.New(zap.WarnLevel)
	set := nop
	set.Logger = zap.New(core)
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Window, cfg.DrainInterval = time.Second, 200*time.Millisecond
	cfg.Targets.PIDs = []int{first, second}
	w := &wire{}
	r, err := f.CreateProfiles(context.Background(), set, cfg, w)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	assert.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.messages) >= 4 && enough(first, 50)(w) && enough(second, 50)(w)
	}, patience, 100*time.Millisecond)
	require.NoError(t, r.Shutdown(context.Background()))
	advice := logs.FilterMessageSnippet("no names").All()
	require.Len(t, advice, 1)
	assert.Contains(t, advice[0].ContextMap()["advice"], "--perf-basic-prof")
	assert.Equal(t, "node", filepath.Base(advice[0].ContextMap()["executable"].(string)))
}

// A JVM tells the names of its code however it is walked. With frame pointers
// the stack goes down to where the thread began, without them it is marked as
// cut: the code at its end did not begin there.
func TestStacksOfJava(t *testing.T) {
	source := write(t, "Hot.java", `
public class Hot {
	static int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s += s * 31 ^ i; return s; }
	static int middle(int n) { return inner(n) + inner(n + 1); }
	public static void main(String[] a) throws Exception {
		System.out.println("ready");
		while (System.in.read() >= 0) { }
		long x = 0;
		var threads = java.lang.management.ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() + 2_000_000_000L;
		while (threads.getCurrentThreadCpuTime() < end) x += middle(500_000);
		if (x == 42) System.out.println(x);
	}
}
`)
	dir := filepath.Dir(source)
	out, err := exec.Command("javac", "-J-XX:-UsePerfData", source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for flag, whole := range map[string]bool{"-XX:-PreserveFramePointer": false, "-XX:+PreserveFramePointer": true} {
		cmd := exec.Command("java", "-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:CompileCommand=quiet",
			"-XX:CompileCommand=dontinline,Hot::inner", flag, "-cp", dir, "Hot")
		samples, _ := recordToTheEnd(t, cmd, time.Minute)
		hot, all := named(samples, "Hot.inner")
		assert.Greater(t, float64(hot)/float64(all), 0.7, flag)
		if !whole {
			cut := int64(0)
			for _, s := range samples {
				if len(s.frames) > 1 && s.frames[0] == "Hot.inner" && s.frames[len(s.frames)-1] == "[truncated]" {
					cut += s.value
				}
			}
			assert.Greater(t, float64(cut)/float64(hot), 0.9)
			continue
		}
		complete := int64(0)
		for _, s := range samples {
			if strings.HasPrefix(strings.Join(s.frames, ";"), "Hot.inner;Hot.middle;") && slices.Contains(s.frames, "JavaMain") {
				complete += s.value
			}
		}
		assert.Greater(t, float64(complete)/float64(hot), 0.5, "the first are taken before the tables of the runtime are there")
	}
}

// Plugins that take turns at an address are told apart by when they were there.
func TestLibrariesThatTakeTurns(t *testing.T) {
	source := write(t, "a.c", `
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
__attribute__((noinline)) void in_main(long n) { for (volatile long i = 0; i < n; i++) ; }
static void run(void (*f)(long)) { for (double end = now() + 1; now() < end;) f(1000000); }
int main(int argc, char **argv)
{
	char b;
	write(1, "ready\n", 6);
	while (read(0, &b, 1) > 0) ;
	run(in_main);
	void *first = 0;
	for (int i = 1; i <= 2; i++) {
		void *lib = dlopen(argv[i], RTLD_NOW);
		if (!lib) { fprintf(stderr, "%s\n", dlerror()); return 1; }
		void *f = dlsym(lib, i == 1 ? "in_first" : "in_second");
		if (i == 1) first = f;
		else if (f != first) { fprintf(stderr, "%p is not %p\n", f, first); return 2; }
		run((void (*)(long))f);
		dlclose(lib);
	}
}
`)
	dir := filepath.Dir(source)
	for _, build := range [][]string{
		{"-o", "prog", "a.c", "-ldl"},
		{"-shared", "-fPIC", "-D", "plugin=in_first", "-o", "first.so", "plugin.c"},
		{"-shared", "-fPIC", "-D", "plugin=in_second", "-o", "second.so", "plugin.c"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.c"), []byte("void plugin(long n) { for (volatile long i = 0; i < n; i++) ; }\n"), 0o600))
		cmd := exec.Command("gcc", append([]string{"-O1", "-fno-omit-frame-pointer"}, build...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	samples, _ := recordToTheEnd(t, exec.Command(filepath.Join(dir, "prog"), filepath.Join(dir, "first.so"), filepath.Join(dir, "second.so")), time.Minute)
	for _, name := range []string{"in_main", "in_first", "in_second"} {
		n, all := named(samples, name)
		assert.InDelta(t, 1.0/3, float64(n)/float64(all), 0.05, name)
	}
}
