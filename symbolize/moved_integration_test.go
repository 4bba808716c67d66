//go:build integration

package symbolize

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// moving copies its code into anonymous memory at the same place, as programs
// do that want it on huge pages: a part of it, or all. The function that does
// it must not lie in what it moves: it is the one of a shared object.
const moving = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void move(char *from, char *to) {
	unsigned long n = to - from;
	char *copy = malloc(n);
	memcpy(copy, from, n);
	mmap(from, n, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy(from, copy, n);
}
`

const moved = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void move(char *, char *);
extern char __executable_start[], etext[];
__asm__(".text\n.balign 4096\n.zero 4096");
__attribute__((noinline, aligned(4096))) int moved_function(int n) { volatile int i = n; return i; }
__asm__(".text\n.balign 4096\n.zero 8192");
int main(int argc, char **argv) {
	char *f = (char *)moved_function;
	if (atoi(argv[1])) {
		unsigned long a = 0, b = 0;
		char line[300];
		FILE *maps = fopen("/proc/self/maps", "r");
		while (fgets(line, sizeof line, maps)) {
			unsigned long s, e; char perm[5];
			sscanf(line, "%lx-%lx %4s", &s, &e, perm);
			if (perm[2] == 'x' && (unsigned long)f >= s && (unsigned long)f < e) { a = s; b = e; }
		}
		fclose(maps);
		move((char *)a, (char *)b);
	} else {
		move(f, f + 4096);
	}
	printf("%d %lx\n", (int)getpid(), (unsigned long)f);
	fflush(stdout);
	for (;;) pause();
}
`

func TestLiveTextMovedToAnonymousMemory(t *testing.T) {
	t.Parallel()
	for which, all := range []string{"a part of it", "all of it"} {
		dir := fixture.Build(t, map[string]string{"move.c": moving, "a.c": moved},
			"gcc -O1 -shared -fPIC -o libmove.so move.c", "gcc -O1 -o prog a.c -L. -lmove -Wl,-rpath,$ORIGIN")
		l := start(t, exec.Command(filepath.Join(dir, "prog"), fmt.Sprint(which)))
		s := newLive(t)
		p := opened(t, s, l.pid)
		m := findMapping(p.Mappings, l.at)
		require.NotNil(t, m)
		require.Empty(t, m.Path, "the fixture's code is in anonymous memory")
		f := one(s, p, l.at)
		assert.Equal(t, "moved_function", name(f), all)
		assert.Equal(t, KindNative, f.Kind)
		assert.Equal(t, filepath.Join(dir, "prog"), f.Module.Path)
		assert.Same(t, f, one(s, p, l.at))
	}
}

func TestLiveGeneratedCodeBesideFilesIsNotTheirs(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": jitProgram}, "gcc -O1 -o prog a.c")
	l := start(t, exec.Command(filepath.Join(dir, "prog"), "generated"))
	t.Cleanup(func() { os.Remove(fmt.Sprintf("/tmp/perf-%d.map", l.pid)) })
	s := newLive(t)
	f := one(s, opened(t, s, l.pid), l.at)
	assert.Equal(t, "generated", name(f))
	assert.Equal(t, KindJIT, f.Kind)
}

// TestLiveInterruptedBySignal has a handler run, whose return address is the
// code that returns from signals: that, and the instruction that was
// interrupted, must be taken as they are.
func TestLiveInterruptedBySignal(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": `
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
__attribute__((noinline)) void before(void) { __asm__ volatile("nop"); }
__attribute__((noinline, naked)) void interrupted(void) { __asm__("1: jmp 1b"); }
static void handler(int sig, siginfo_t *info, void *context) {
	ucontext_t *u = context;
	if (u->uc_mcontext.gregs[REG_RIP] != (long)interrupted) { /* not there yet */
		alarm(1);
		return;
	}
	printf("%d %lx\n%lx\n", (int)getpid(), (unsigned long)__builtin_return_address(0), (unsigned long)u->uc_mcontext.gregs[REG_RIP]);
	fflush(stdout);
	for (;;) pause();
}
int main(void) {
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	sigaction(SIGALRM, &sa, 0);
	alarm(1);
	before();
	interrupted();
}
`}, "gcc -O1 -D_GNU_SOURCE -o prog a.c", "gcc -O1 -D_GNU_SOURCE -static -o static a.c")
	for _, file := range []string{"prog", "static"} {
		cmd := exec.Command(filepath.Join(dir, file))
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		var pid int
		var restorer, pc uint64
		_, err = fmt.Fscan(bufio.NewReader(out), &pid, (*hexadecimal)(&restorer), (*hexadecimal)(&pc))
		require.NoError(t, err)
		s := newLive(t)
		p := opened(t, s, cmd.Process.Pid)
		frames := s.User(p, []addr.Virtual{addr.Virtual(pc), addr.Virtual(restorer), addr.Virtual(pc)}, nil)
		assert.Equal(t, "interrupted", name(frames[0]))
		assert.True(t, strings.HasPrefix(name(frames[1]), "__restore"), "%s: %s", file, name(frames[1]))
		assert.Equal(t, "interrupted", name(frames[2]), "the first byte of a function is no return address here")
		// The handler has returned, and the kernel is about to be asked to go on.
		frames = s.User(p, []addr.Virtual{addr.Virtual(restorer) + 7, addr.Virtual(pc)}, nil)
		assert.True(t, strings.HasPrefix(name(frames[0]), "__restore"), "%s: %s", file, name(frames[0]))
		assert.Equal(t, "interrupted", name(frames[1]), file)
		frames = s.User(p, []addr.Virtual{addr.Virtual(pc), addr.Virtual(pc)}, nil)
		assert.NotEqual(t, "interrupted", name(frames[1]), "as a return address it is that of the function before")
	}
}

// TestLiveGoInterruptedBySignal is the same for handlers of the Go runtime,
// which has code of its own for them to return to.
func TestLiveGoInterruptedBySignal(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.go": `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	fmt.Println(os.Getpid(), 0)
	time.Sleep(time.Hour)
}
`}, "go build -o prog a.go", "go build -ldflags=-s -o stripped a.go")
	at := map[string]addr.Virtual{}
	f, err := elf.Open(filepath.Join(dir, "prog"))
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	for _, s := range symbols {
		at[strings.TrimSuffix(s.Name, ".abi0")] = addr.Virtual(s.Value)
	}
	restorer, interrupted := at["runtime.sigreturn__sigaction"], at["main.main"]
	require.NotZero(t, restorer)
	require.NotZero(t, interrupted)
	for _, file := range []string{"prog", "stripped"} {
		s := newLive(t)
		p := opened(t, s, start(t, exec.Command(filepath.Join(dir, file))).pid)
		frames := s.User(p, []addr.Virtual{interrupted, restorer, interrupted}, nil)
		assert.Equal(t, "main.main", name(frames[0]), file)
		assert.Equal(t, "runtime.sigreturn__sigaction", name(frames[1]), file)
		assert.Equal(t, "main.main", name(frames[2]), "%s: the first byte of a function is no return address here", file)
		frames = s.User(p, []addr.Virtual{restorer + 7, interrupted}, nil)
		assert.Equal(t, "main.main", name(frames[1]), "%s: the handler has returned", file)
		frames = s.User(p, []addr.Virtual{interrupted, interrupted}, nil)
		assert.NotEqual(t, "main.main", name(frames[1]), "%s: as a return address it is that of the function before", file)
	}
}

// hexadecimal scans a number.
type hexadecimal uint64

func (h *hexadecimal) Scan(state fmt.ScanState, _ rune) error {
	state.SkipSpace()
	token, err := state.Token(false, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Sscanf(string(token), "%x", (*uint64)(h))
	return err
}

// TestLiveNodeDump has V8 write its binary log.
func TestLiveNodeDump(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"busy.js": `
function hotLoop(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
const end = Date.now() + 600000;
let said = 0;
while (Date.now() < end) { hotLoop(1e6); if (++said == 200) { console.log("1 1"); } }
`})
	cmd := exec.Command("node", "--perf-prof", "busy.js")
	cmd.Dir = dir
	l := start(t, cmd)
	s := newLive(t)
	p := opened(t, s, l.pid)
	require.NotNil(t, dumpOf(p), "node maps its log")
	found := false
	for _, m := range p.Mappings {
		if m.Object.kind != objectAnonymous {
			continue
		}
		for at := m.Start; at < min(m.Limit, m.Start+(4<<20)) && !found; at += 64 {
			f := one(s, p, at)
			if name(f) == "hotLoop" {
				found = true
				assert.Equal(t, KindV8, f.Kind)
				assert.NotEmpty(t, f.Tier)
				assert.Contains(t, f.Lines[0].File, "busy.js")
			}
		}
	}
	assert.True(t, found, "no hotLoop in the log of node")
}
