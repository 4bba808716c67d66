//go:build integration

package symbolize

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
	"github.com/flametel/flametel/symbolize/procmap"
)

// sleeper prints its PID and the address of a function of the given name and
// waits.
func sleeper(function string) string {
	return `
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int ` + function + `(int n) { volatile int i = n; return i; }
int main(void) { printf("%d %lx\n", (int)getpid(), (unsigned long)` + function + `); fflush(stdout); for (;;) pause(); }
`
}

// live is a running program that told where its function is.
type live struct {
	pid int // in the namespace of the test
	at  addr.Virtual
}

// start runs a command whose output begins with a PID and an address. It is
// killed at the end of the test.
func start(t *testing.T, cmd *exec.Cmd) live {
	t.Helper()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill() // it may have ended
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	var inner int
	var at uint64
	_, err = fmt.Sscanf(line, "%d %x", &inner, &at)
	require.NoError(t, err, line)
	return live{cmd.Process.Pid, addr.Virtual(at)}
}

// opened returns a process with all its mappings.
func opened(t *testing.T, s *Symbolizer, pid int) *Process {
	t.Helper()
	ms, err := procmap.Read("/proc", pid)
	require.NoError(t, err)
	require.NotEmpty(t, ms)
	var mapped []Mapped
	for _, m := range ms {
		mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(pid, m)})
	}
	return NewProcess(pid, 0).With(mapped)
}

func newLive(t *testing.T) *Symbolizer {
	t.Helper()
	s := newPatient(Options{})
	t.Cleanup(s.Close)
	return s
}

func TestLiveExecutables(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		compile string
		run     []string
	}{
		"position independent":      {"gcc -O1 -o prog a.c", []string{"./prog"}},
		"fixed address":             {"gcc -O1 -no-pie -o prog a.c", []string{"./prog"}},
		"one segment":               {"gcc -O1 -no-pie -static -Wl,-z,noseparate-code -o prog a.c", []string{"./prog"}},
		"code moved by the linker":  {"gcc -O1 -Wl,--section-start=.text=0x15000 -o prog a.c", []string{"./prog"}},
		"without build ID":          {"gcc -O1 -Wl,--build-id=none -o prog a.c", []string{"./prog"}},
		"through the loader":        {"gcc -O1 -o prog a.c", []string{"/lib64/ld-linux-x86-64.so.2", "./prog"}},
		"sections beyond the end":   {"gcc -O1 -rdynamic -o prog a.c", []string{"sh", "-c", `printf '\377\377\377\377\377\377\377\177' | dd of=prog bs=1 seek=40 conv=notrunc 2>/dev/null; exec ./prog`}},
		"name with spaces and more": {"gcc -O1 -o prog a.c", []string{"sh", "-c", `mv prog 'a b;c\d'; exec './a b;c\d'`}},
		"name with a newline":       {"gcc -O1 -o prog a.c", []string{"sh", "-c", "mv prog 'a\nb'; exec './a\nb'"}},
	}
	for test, tt := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Build(t, map[string]string{"a.c": sleeper("live_function")}, tt.compile)
			cmd := exec.Command(tt.run[0], tt.run[1:]...)
			cmd.Dir = dir
			l := start(t, cmd)
			s := newLive(t)
			f := one(s, opened(t, s, l.pid), l.at)
			assert.Equal(t, "live_function", name(f))
			assert.Equal(t, dir, filepath.Dir(f.Module.Path))
		})
	}
}

func TestLiveFileDeletedOrReplaced(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-Wl,--build-id=none"} {
		dir := fixture.Build(t, map[string]string{"a.c": sleeper("deleted_function"), "b.c": sleeper("other_function")},
			"gcc -O1 "+flags+" -o prog a.c", "gcc -O1 "+flags+" -o other b.c")
		l := start(t, exec.Command(filepath.Join(dir, "prog")))
		require.NoError(t, os.Remove(filepath.Join(dir, "prog")))
		s := newLive(t)
		f := one(s, opened(t, s, l.pid), l.at)
		assert.Equal(t, "deleted_function", name(f))
		assert.Equal(t, filepath.Join(dir, "prog"), f.Module.Path, "without (deleted)")
		require.NoError(t, os.Rename(filepath.Join(dir, "other"), filepath.Join(dir, "prog")))
		s = newLive(t)
		assert.Equal(t, "deleted_function", name(one(s, opened(t, s, l.pid), l.at)))
	}
}

func TestLiveProcessGoneAfterOpen(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": sleeper("gone_function")}, "gcc -O1 -Wl,--build-id=none -o prog a.c")
	cmd := exec.Command(filepath.Join(dir, "prog"))
	l := start(t, cmd)
	s := newLive(t)
	p := opened(t, s, l.pid)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, os.Remove(filepath.Join(dir, "prog")))
	assert.Equal(t, "gone_function", name(one(s, p, l.at)))
}

// TestLiveMountNamespace runs a program that lies over another of the same
// path, in a mount namespace of its own.
func TestLiveMountNamespace(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-Wl,--build-id=none"} {
		dir := fixture.Build(t, map[string]string{"a.c": sleeper("inner_function"), "b.c": sleeper("outer_function")},
			"gcc -O1 "+flags+" -o inner a.c", "gcc -O1 "+flags+" -o app b.c")
		app := filepath.Join(dir, "app")
		l := start(t, exec.Command("unshare", "-m", "sh", "-c", fmt.Sprintf("mount --bind %s %s && exec %s", filepath.Join(dir, "inner"), app, app)))
		s := newLive(t)
		f := one(s, opened(t, s, l.pid), l.at)
		assert.Equal(t, "inner_function", name(f))
		assert.Equal(t, app, f.Module.Path)
	}
}

func TestLiveOverlay(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-Wl,--build-id=none"} {
		dir := fixture.Build(t, map[string]string{"a.c": sleeper("overlay_function")}, "mkdir lower upper work merged tmpfs", "gcc -O1 "+flags+" -o lower/app a.c")
		script := fmt.Sprintf("cd %s && mount -t tmpfs x tmpfs && mkdir tmpfs/up tmpfs/work && "+
			"mount -t overlay overlay -o lowerdir=lower,upperdir=tmpfs/up,workdir=tmpfs/work merged && exec merged/app", dir)
		l := start(t, exec.Command("unshare", "-m", "sh", "-c", script))
		s := newLive(t)
		assert.Equal(t, "overlay_function", name(one(s, opened(t, s, l.pid), l.at)))
	}
}

func TestLiveChroot(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": sleeper("chroot_function")}, "gcc -O1 -static -o app a.c")
	l := start(t, exec.Command("chroot", dir, "/app"))
	s := newLive(t)
	assert.Equal(t, "chroot_function", name(one(s, opened(t, s, l.pid), l.at)))
}

func TestLiveMemfd(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": sleeper("memfd_function"), "run.py": `
import os
fd = os.memfd_create("hidden program")
os.write(fd, open("prog", "rb").read())
os.execve(fd, ["prog"], {})
`}, "gcc -O1 -static -o prog a.c")
	cmd := exec.Command("python3", "run.py")
	cmd.Dir = dir
	l := start(t, cmd)
	s := newLive(t)
	f := one(s, opened(t, s, l.pid), l.at)
	assert.Equal(t, "memfd_function", name(f))
	assert.Equal(t, "/memfd:hidden program", f.Module.Path)
}

func TestLiveMemfdLibrary(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"lib.c": "__attribute__((noinline)) int memfd_library_function(int n) { volatile int i = n; return i; }\n", "a.c": `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
	int fd = memfd_create("plugin", 0), from = open(argv[1], O_RDONLY);
	char b[4096], name[64];
	for (int n; (n = read(from, b, sizeof b)) > 0;) write(fd, b, n);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	void *lib = dlopen(name, RTLD_NOW);
	printf("%d %lx\n", (int)getpid(), (unsigned long)dlsym(lib, "memfd_library_function"));
	fflush(stdout);
	for (;;) pause();
}
`}, "gcc -O1 -shared -fPIC -o lib.so lib.c", "gcc -O1 -w -o prog a.c -ldl")
	l := start(t, exec.Command(filepath.Join(dir, "prog"), filepath.Join(dir, "lib.so")))
	s := newLive(t)
	f := one(s, opened(t, s, l.pid), l.at)
	assert.Equal(t, "memfd_library_function", name(f))
	assert.Equal(t, KindNative, f.Kind)
	assert.Equal(t, "/memfd:plugin", f.Module.Path)
}

// firstThreadExited waits until only other threads of a process are there.
func firstThreadExited(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
		require.NoError(t, err)
		return len(maps) == 0
	}, time.Minute, time.Millisecond, "the fixture's first thread is still there")
}

func TestLiveFirstThreadExited(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": `
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
void *thread_function(void *arg) { printf("%d %lx\n", (int)getpid(), (unsigned long)thread_function); fflush(stdout); for (;;) pause(); }
int main(void) { pthread_t t; pthread_create(&t, 0, thread_function, 0); pthread_exit(0); }
`}, "gcc -O1 -pthread -o prog a.c")
	l := start(t, exec.Command(filepath.Join(dir, "prog")))
	firstThreadExited(t, l.pid)
	s := newLive(t)
	assert.Equal(t, "thread_function", name(one(s, opened(t, s, l.pid), l.at)))
}

func TestLiveThirtyTwoBits(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.S": `
	.text
	.globl _start
	.type _start, @function
_start:
	mov $4, %eax
	mov $1, %ebx
	mov $text, %ecx
	mov $2, %edx
	int $0x80
	mov $29, %eax
	int $0x80
	jmp _start
	.size _start, .-_start
	.data
text:	.ascii "1\n"
`}, "gcc -m32 -nostdlib -static -o prog a.S")
	cmd := exec.Command(filepath.Join(dir, "prog"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s := newLive(t)
	p := opened(t, s, cmd.Process.Pid)
	found, started := false, false
	for _, m := range p.Mappings {
		switch m.Path {
		case filepath.Join(dir, "prog"):
			for at := m.Start; at < m.Limit; at++ {
				started = started || name(one(s, p, at)) == "_start"
			}
		case "[vdso]":
			for at := m.Start; at < m.Limit; at++ {
				found = found || strings.HasPrefix(name(one(s, p, at)), "__kernel_")
			}
		}
	}
	assert.True(t, started, "no _start in the program")
	assert.True(t, found, "no function of the 32-bit vdso: %v", p.Mappings)
}

// jitProgram is a C program that writes a map with its own idea of its PID for
// a page of code, in a PID namespace and with a /tmp of its own.
const jitProgram = `
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	p[0] = 0xc3;
	char name[64];
	snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
	FILE *f = fopen(name, "w");
	fprintf(f, "%lx 1000 %s\n", (unsigned long)p, argv[1]);
	fclose(f);
	printf("%d %lx\n", (int)getpid(), (unsigned long)p);
	fflush(stdout);
	for (;;) pause();
}
`

func TestLiveMapsOfContainers(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": jitProgram}, "mkdir -p one/bin two/bin", "gcc -O1 -o one/bin/prog a.c", "cp one/bin/prog two/bin/prog")
	s := newLive(t)
	for _, which := range []string{"one", "two"} {
		// The test's folder is below /tmp, which is hidden inside: open it before.
		script := fmt.Sprintf("cd %s && mount -t tmpfs x /tmp && exec ./prog 'names of %s'", filepath.Join(dir, which, "bin"), which)
		l := start(t, exec.Command("unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", script))
		pid := childOf(t, l.pid)
		f := one(s, opened(t, s, pid), l.at+5)
		assert.Equal(t, "names of "+which, name(f))
		assert.Equal(t, KindJIT, f.Kind)
	}
}

// childOf returns the only child of a process, or the process itself if it has
// none.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	require.NoError(t, err)
	if words := strings.Fields(string(b)); len(words) > 0 {
		child, err := strconv.Atoi(words[0])
		require.NoError(t, err)
		return child
	}
	return pid
}

func TestLiveMapAfterTheFirstThreadExited(t *testing.T) {
	t.Parallel()
	src := strings.Replace(strings.ReplaceAll(jitProgram, "argv[1]", `"thread name"`), "int main(int argc, char **argv) {",
		"#include <pthread.h>\nstatic void *run(void *arg) {", 1) +
		"int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_exit(0); }\n"
	dir := fixture.Build(t, map[string]string{"a.c": src}, "gcc -O1 -pthread -o prog a.c")
	l := start(t, exec.Command(filepath.Join(dir, "prog")))
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", l.pid)) })
	firstThreadExited(t, l.pid)
	s := newLive(t)
	assert.Equal(t, "thread name", name(one(s, opened(t, s, l.pid), l.at+5)))
}

func TestLiveNode(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"busy.js": `
function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
const end = Date.now() + 600000;
let said = false;
while (Date.now() < end) { hotLoop(1e6); if (!said) { console.log("1 1"); said = true; } }
`})
	cmd := exec.Command("node", "--perf-basic-prof", "busy.js")
	cmd.Dir = dir
	l := start(t, cmd)
	file := fmt.Sprintf("/tmp/perf-%d.map", l.pid)
	t.Cleanup(func() { os.Remove(file) })
	var at uint64
	deadline := time.Now().Add(5 * time.Minute)
	for at == 0 && time.Now().Before(deadline) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if w := strings.Fields(line); len(w) > 2 && strings.Contains(line, "hotLoop") {
				at, err = strconv.ParseUint(w[0], 16, 64)
				require.NoError(t, err)
			}
		}
	}
	require.NotZero(t, at, "no hotLoop in the map of node")
	s := newLive(t)
	f := one(s, opened(t, s, l.pid), addr.Virtual(at)+1)
	assert.Equal(t, "hotLoop", name(f))
	assert.Equal(t, "v8js", f.Kind.String())
	assert.Equal(t, filepath.Join(dir, "busy.js"), f.Lines[0].File)
	assert.Contains(t, f.Lines[0].SystemName, "hotLoop")
}

func TestLiveKernel(t *testing.T) {
	t.Parallel()
	s := newLive(t)
	r := s.KernelRanges("do_syscall_64")
	require.Len(t, r, 1, "root sees kernel addresses")
	f := s.Kernel([]addr.Virtual{r[0][1] - 1}, nil)[0]
	assert.Equal(t, "do_syscall_64", name(f))
	assert.Equal(t, "[kernel]", f.Module.Path)
	assert.Equal(t, "kernel", f.Kind.String())
}

// TestLiveEverything names the start of each mapping of each process of the
// host, whatever they do meanwhile.
func TestLiveEverything(t *testing.T) {
	t.Parallel()
	s := newLive(t)
	dirs, err := os.ReadDir("/proc")
	require.NoError(t, err)
	frames := 0
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		ms, err := procmap.Read("/proc", pid)
		if err != nil {
			continue // it has ended
		}
		var mapped []Mapped
		for _, m := range ms {
			mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(pid, m)})
		}
		p := NewProcess(pid, 0).With(mapped)
		for _, m := range mapped {
			f := one(s, p, m.Start+addr.Virtual(m.Limit-m.Start)/2)
			require.NotNil(t, f.Module)
			require.NotEqual(t, ReasonNoMapping, f.Reason)
			frames++
		}
	}
	assert.Positive(t, frames)
	assert.LessOrEqual(t, s.Stats().OpenFiles, defaultOpenFiles)
}
