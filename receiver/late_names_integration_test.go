//go:build integration && linux

package receiver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordToTheEnd profiles one process until it has ended, in windows of a
// length, and returns its samples and the account of all. The process prints a
// line when it has started and waits for the end of its input then, so that
// nothing but its work is recorded.
func recordToTheEnd(t *testing.T, cmd *exec.Cmd, length time.Duration) (samples, accounting []seen) {
	t.Helper()
	return recordWithDrains(t, cmd, length, 200*time.Millisecond)
}

func recordWithDrains(t *testing.T, cmd *exec.Cmd, length, drain time.Duration) (samples, accounting []seen) {
	t.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	pid := cmd.Process.Pid
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	ended, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-over
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", pid))
	})
	begun := false
	w := record(t, func(c *Config) {
		c.Targets.PIDs = []int{pid}
		c.Window, c.DrainInterval = length, drain
		c.CPU.Frequency = 499
	}, func(*wire) bool {
		if !begun { // now that it is profiled
			begun = true
			require.NoError(t, in.Close())
		}
		select {
		case err := <-ended:
			assert.NoError(t, err)
			return true
		default:
			return false
		}
	})
	samples, accounting = w.samples()
	return samples, accounting
}

// named returns how many samples have a leaf of a name and how many there are.
func named(samples []seen, leaf string) (n, all int64) {
	for _, s := range samples {
		all += s.value
		if len(s.frames) > 0 && s.frames[0] == leaf {
			n += s.value
		}
	}
	return n, all
}

// buildHot makes a Java program that is busy for as many milliseconds of CPU
// time as its argument tells, and returns its folder.
func buildHot(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Hot.java"), []byte(`
public class Hot {
	static int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s += s * 31 ^ i; return s; }
	public static void main(String[] a) throws Exception {
		System.out.println("ready");
		while (System.in.read() >= 0) { }
		long x = 0;
		var threads = java.lang.management.ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() + Integer.parseInt(a[0]) * 1_000_000L;
		while (threads.getCurrentThreadCpuTime() < end) x += inner(1_000_000);
		if (x == 42) System.out.println(x);
	}
}
`), 0o600))
	compile := exec.Command("javac", "-J-XX:-UsePerfData", "Hot.java")
	compile.Dir = dir
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return dir
}

// A JVM lists its code when it ends, after all of it was sampled.
func TestMapThatJavaWritesAtItsEnd(t *testing.T) {
	dir := buildHot(t)
	cmd := exec.Command("java", "-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer", "-cp", dir, "Hot", "3000")
	samples, accounting := recordToTheEnd(t, cmd, time.Minute)
	hot, all := named(samples, "Hot.inner")
	t.Logf("%d of %d samples in Hot.inner; %v", hot, all, accounting[0].attrs)
	require.Greater(t, all, int64(500))
	assert.Greater(t, float64(hot)/float64(all), 0.7)
	missing := 0
	fmt.Sscan(accounting[0].attrs["flametel.frames.unknown.no_perf_map_entry"], &missing)
	assert.Less(t, float64(missing)/float64(all), 0.05, "frames that have names do not count as unknown")
}

// One that ends before the first drain has its names, too.
func TestJavaThatEndsBeforeADrain(t *testing.T) {
	dir := buildHot(t)
	cmd := exec.Command("java", "-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-XX:+PreserveFramePointer", "-cp", dir, "Hot", "1500")
	samples, _ := recordWithDrains(t, cmd, time.Minute, time.Minute)
	hot, all := named(samples, "Hot.inner")
	t.Logf("%d of %d", hot, all)
	require.Greater(t, all, int64(100))
	assert.Greater(t, float64(hot)/float64(all), 0.5)
}

// V8 keeps up to 2 MB of its binary log back until it ends.
func TestLogThatNodeWritesAtItsEnd(t *testing.T) {
	script := write(t, "busy.js", `
function hotFunction(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
require('fs').writeSync(1, 'ready\n');
require('fs').readSync(0, Buffer.alloc(1));
for (const begin = process.cpuUsage(); process.cpuUsage(begin).user < 2e6;) hotFunction(100000);
`)
	cmd := exec.Command("node", "--perf-prof", "--no-turbo-inlining", script)
	cmd.Dir = filepath.Dir(script)
	samples, _ := recordToTheEnd(t, cmd, time.Minute)
	hot, all := named(samples, "hotFunction")
	t.Logf("%d of %d", hot, all)
	assert.Greater(t, float64(hot)/float64(all), 0.8)
}

// generatedSource runs code that it generates for two seconds, and tells its
// name only then; then it ends. With an argument it goes on with other code
// at the same place, whose name it tells at once.
const generatedSource = `
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* lea rax, [rdi + marker]; 1: dec rdi; jnz 1b; ret */
static const unsigned char code[] = {0x48, 0x8d, 0x47, 0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};

/* in seconds of CPU time, because others may be busy */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void tell(void *p, const char *name)
{
	char file[64];
	snprintf(file, sizeof(file), "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(file, "a");
	fprintf(f, "%lx %x %s\n", (unsigned long)p, (unsigned)sizeof(code), name);
	fclose(f);
}

static void run(long (*f)(long), double seconds)
{
	for (double end = now() + seconds; now() < end;)
		f(1000000);
}

int main(int argc, char **argv)
{
	char b;
	write(1, "ready\n", 6);
	while (read(0, &b, 1) > 0)
		;
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof(code));
	if (argc == 1) {
		run(p, 2);
		tell(p, "told late");
		return 0;
	}
	tell(p, "first");
	run(p, 4);
	((unsigned char *)p)[3] = 1;
	tell(p, "second");
	run(p, 4);
	return 0;
}
`

func buildGenerated(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "generated.c"), []byte(generatedSource), 0o600))
	program := filepath.Join(dir, "generated")
	out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", "-o", program, filepath.Join(dir, "generated.c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// What is told just before the process ends names all that ran.
func TestNameThatIsToldAfterTheCodeRan(t *testing.T) {
	samples, _ := recordToTheEnd(t, exec.Command(buildGenerated(t)), time.Minute)
	late, all := named(samples, "told late")
	t.Logf("%d of %d", late, all)
	require.Greater(t, all, int64(500))
	assert.Greater(t, float64(late)/float64(all), 0.95)
}

// Code that replaces other code at its place does not rename what ran before.
func TestNamesOfCodeThatTakesTurns(t *testing.T) {
	samples, _ := recordToTheEnd(t, exec.Command(buildGenerated(t), "twice"), time.Second)
	first, all := named(samples, "first")
	second, _ := named(samples, "second")
	t.Logf("%d and %d of %d", first, second, all)
	require.Greater(t, all, int64(1000))
	// The map is looked at once a second, so the first keeps its place so long.
	assert.InDelta(t, 0.5, float64(first)/float64(all), 0.2)
	assert.InDelta(t, 0.5, float64(second)/float64(all), 0.2)
	begun := false // the second
	byWindow := map[uint64][2]int64{}
	var order []uint64
	for _, s := range samples {
		start := s.profile.TimeUnixNano
		if _, ok := byWindow[start]; !ok {
			order = append(order, start)
		}
		n := byWindow[start]
		for i, name := range []string{"first", "second"} {
			if s.frames[0] == name {
				n[i] += s.value
			}
		}
		byWindow[start] = n
	}
	for _, start := range order {
		n := byWindow[start]
		assert.False(t, begun && n[0] > 0, "the first ran again: %v", byWindow)
		begun = begun || n[1] > 0
	}
}
