//go:build integration && linux

package unwind

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/receiver"
)

// named returns the stacks of all processes of a program, from the first on.
func (r *recorder) named(program string) (list stacks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range r.order {
		for _, s := range r.byPID[pid] {
			if s.process == program {
				list = append(list, s)
			}
		}
	}
	return list
}

// mainClock is what programs do first that run for some CPU time.
const mainClock = calls("main clock|__clock ...")

// lazyBinding is what the first call of a function in a library does.
const lazyBinding = calls("main _dl_runtime_resolve_xsavec|_dl_runtime_resolve_xsave|_dl_runtime_resolve_fxsave|_dl_fixup ...")

// A program that has run once has complete stacks soon after it starts again:
// until the kernel knows where its code is, which takes a millisecond or two,
// they are cut.
func TestShortPrograms(t *testing.T) {
	dir := buildAll(t, []program{{build: compile("gcc", "short", "short.c", "-O2", noFP)}})
	shell := start(t, dir, "/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; for i in $(seq 25); do ./short 100 & ./short 100; wait; done; sleep 300")
	r := record(t, 999, shell)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	r.wait("stacks of all runs", func() bool { return len(r.processes("short")) == 50 })
	time.Sleep(2 * windowLength) // the last one's
	pids := r.processes("short")[2:]
	e := expectation{
		chains: []calls{"main a b ...", mainClock, lazyBinding, "... _dl_start|_dl_start_final|_dl_sysdep_start|?ld-linux-x86-64.so.2 ...", "... __GI_exit|exit|__libc_start_main ..."},
		whole:  0.9, incomplete: 0.05,
	}
	e.check(t, slices.DeleteFunc(r.named("short"), func(s stack) bool { return !slices.Contains(pids, s.pid) }))
}

// Libraries that come and go.
func TestLibrariesThatComeAndGo(t *testing.T) {
	plugin := func(name, flags string) string {
		return "gcc -O2 -w -shared -fPIC " + noFP + " " + flags + " -o " + name + " $S/plugin.c\n"
	}
	dir := buildAll(t, []program{{build: compile("gcc", "load", "load.c", "-O2", noFP) + "\n" +
		compile("gcc", "replace", "replace.c", "-O2", noFP) + "\n" +
		plugin("one.so", "-DNAME=first -DFRAME=64") + plugin("two.so", "-DNAME=first -DFRAME=640") + plugin("three.so", "-DNAME=second -DFRAME=3200")}})
	in := func(name string) string { return filepath.Join(dir, name) }
	load := start(t, dir, in("load"), in("one.so"), in("two.so"))
	replace := start(t, dir, in("replace"), in("one.so"), in("three.so"))
	r := record(t, 999, load, replace)
	r.enough(2000, load, replace)
	t.Run("load", func(t *testing.T) {
		expectation{chains: []calls{"main once first spin", "main once ..."}, whole: 0.8, incomplete: 0.1}.check(t, r.of(load))
	})
	// The faster the machine, the more stacks are cut here, but none is wrong.
	t.Run("replace", func(t *testing.T) {
		expectation{chains: []calls{
			"main a first spin_first", "main b second spin_second",
			"main a clock_gettime|__clock_gettime|mmap|mmap64|__mmap|more|put ...", "main b clock_gettime|__clock_gettime|mmap|mmap64|__mmap|more|put ...",
			"main a [vdso]", "main b [vdso]",
		}, incomplete: 1}.check(t, r.of(replace))
	})
}

// Libraries that are mapped and would fill the pool of tables leave room for those
// that run.
func TestHugeLibrariesThatDoNotRun(t *testing.T) {
	library := func(name, turns string) string {
		return "sed 's/SIZE/" + turns + "/; s/NAME/" + name + "/g' $S/huge.s >" + name + ".s; gcc -shared -o lib" + name + ".so " + name + ".s\n"
	}
	// The pool has 131,072 rows, libc 23,000, the first two libraries 98,000, and the
	// third 20,000.
	dir := buildAll(t, []program{{build: library("first", "22000") + library("second", "27000") + library("crunch", "10000") +
		compile("gcc", "holder", "holder.c", "-O2", noFP) + "\n" + compile("gcc", "hot", "hot.c", "-O2", noFP) + " -L. -lcrunch"}})
	in := func(name string) string { return filepath.Join(dir, name) }
	holder := start(t, dir, in("holder"), in("libfirst.so"), in("libsecond.so"))
	shell := start(t, dir, "/bin/sh", "-c", "while [ ! -e go ]; do sleep 0.05; done; exec ./hot")
	r := run(t, func(c *receiver.Config) {
		c.CPU.Frequency = 999
		c.Targets.PIDs = []int{holder, shell}
		c.Unwind.MaxTableMiB = 1
	})
	// At once: later the libraries would be cold, and give way.
	r.wait("stacks of the first program", func() bool { return r.named("holder").total() > 20 })
	require.NoError(t, os.WriteFile(in("go"), nil, 0o600))
	r.wait("stacks of the other program", func() bool { return r.named("hot").warm().total() > 200 })
	exactly(0.9, "main spin").check(t, r.of(holder))
	exactly(0.9, "main crunch", "main").check(t, r.named("hot").warm())
}

// Children have what their parent has, and a program that becomes another one
// is unwound by the other's tables from then on.
func TestForkAndExec(t *testing.T) {
	dir := buildAll(t, []program{{build: compile("gcc", "children", "children.c", "-O2", noFP) + "\n" +
		compile("gcc", "alpha", "become.c", "-O2 -no-pie -DFRAME=80 -DWORK=one -DSPIN=turn", noFP) + "\n" +
		compile("gcc", "beta", "become.c", "-O2 -no-pie -DFRAME=4000 -DWORK=two -DSPIN=circle", noFP)}})
	in := func(name string) string { return filepath.Join(dir, name) }
	children := start(t, dir, in("children"))
	become := start(t, dir, in("alpha"), in("beta"))
	r := record(t, 999, children, become)
	r.wait("stacks of children and of both programs", func() bool {
		return len(r.processes("children")) > 20 && r.named("alpha").total() > 500 && r.named("beta").total() > 500
	})
	loader := calls("_dl_start|_dl_start_final|_dl_sysdep_start|?ld-linux-x86-64.so.2 ...")
	for name, chains := range map[string][]calls{
		"children": {"main child work spin", "main ..."},
		"alpha":    {"main one turn", "main one clock|__clock ...", mainClock, lazyBinding, "main execl ...", loader},
		"beta":     {"main two circle", "main two clock|__clock ...", mainClock, lazyBinding, "main execl ...", loader},
	} {
		t.Run(name, func(t *testing.T) {
			expectation{chains: chains, whole: 0.8, incomplete: 0.1}.check(t, slices.DeleteFunc(r.named(name), func(s stack) bool { return s.window < warmWindows }))
		})
	}
}

// What cannot be known is marked, and what is shown is true.
func TestCutStacks(t *testing.T) {
	programs := []program{
		{name: "deep5000", build: compile("gcc", "deep5000", "deep.c", "-O2 -fno-optimize-sibling-calls", noFP), args: []string{"5000"}},
		{name: "noinfo", build: compile("gcc", "noinfo", "calls.c", "-O2 -s -fno-asynchronous-unwind-tables -fno-optimize-sibling-calls", noFP)},
		{name: "clone", build: compile("gcc", "clone", "clone.c", "-O2", noFP)},
		{name: "evict", build: compile("gcc", "evict", "evict.c", "-O2 -fno-optimize-sibling-calls", noFP)},
		{name: "ranges", build: compile("gcc", "ranges", "ranges.c", "-O2", noFP)},
	}
	dir := buildAll(t, programs)
	pids := make([]int, len(programs))
	for i, p := range programs {
		pids[i] = start(t, dir, filepath.Join(dir, p.name), p.args...)
	}
	r := record(t, 999, pids...)
	r.enough(100, pids...)
	t.Run("deeper than the limit", func(t *testing.T) {
		for _, s := range r.of(pids[0]) {
			assert.False(t, s.complete)
			assert.Len(t, s.frames, 1024)
			assert.Equal(t, "spin", s.frames[1023])
			assert.Equal(t, "down", s.frames[0])
		}
	})
	t.Run("no unwind information", func(t *testing.T) {
		for _, s := range r.of(pids[1]) {
			assert.False(t, s.complete, s.frames)
			for _, f := range s.frames {
				assert.Equal(t, "?noinfo", f)
			}
		}
	})
	t.Run("thread made by hand", func(t *testing.T) {
		expectation{chains: []calls{"child ...", "main child ..."}, incomplete: 1}.check(t, r.of(pids[2]))
		for _, s := range r.of(pids[2]) {
			for _, f := range s.frames {
				assert.Contains(t, []string{"child", "main", "spin"}, f)
			}
		}
	})
	t.Run("memory that is not there", func(t *testing.T) {
		for _, s := range r.of(pids[3]) {
			assert.False(t, s.complete)
			assert.Equal(t, []string{"a", "b", "c", "spin"}, s.frames)
		}
	})
	t.Run("thousands of ranges", func(t *testing.T) {
		expectation{chains: []calls{"main a ?pages|?[anon]|?memfd:pages spin", "main a ... compare", "main a ...", "main __mmap|mmap|mmap64|memcpy ..."}, whole: 0.8, incomplete: 0.05}.check(t, r.of(pids[4]))
	})
}
