//go:build integration && linux

package unwind

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const noFP, keepFP = "-fomit-frame-pointer", "-fno-omit-frame-pointer"

// exactly expects complete stacks only.
func exactly(whole float64, chains ...calls) expectation {
	return expectation{chains: chains, whole: whole}
}

// Five calls, compiled in many ways.
func TestFlagsOfCompilers(t *testing.T) {
	var programs []program
	add := func(cc, flags string, want expectation) {
		name := strings.NewReplacer(" ", "", "/", "", "=", "", ",", "").Replace("calls_" + cc + flags)
		programs = append(programs, program{
			name: name, build: compile(cc, name, "calls.c", "-fno-optimize-sibling-calls", flags), expectation: want,
		})
	}
	all := exactly(0.9, "main a b c spin")
	for _, cc := range []string{"gcc", "clang-14"} {
		for _, level := range []string{"-O0", "-O1", "-O2", "-O3", "-Os"} {
			add(cc, level+" "+noFP, all)
			add(cc, level+" "+keepFP, all)
		}
		for _, flags := range []string{
			"-static", "-no-pie", "-static-pie", "-fcf-protection -Wl,-z,lazy",
			// Samples in all the instructions that make frames and undo them.
			"-DSPIN=2",
			"-DSPIN=2 -fcf-protection -mstackrealign",
		} {
			want := all
			if strings.Contains(flags, "SPIN") {
				want.whole = 0
			}
			add(cc, "-O2 "+noFP+" "+flags, want)
		}
	}
	for _, flags := range []string{
		"-fstack-protector-all", "-fstack-clash-protection", "-fsplit-stack", "-mcmodel=large -no-pie", "-mavx2 -mstackrealign",
		"-momit-leaf-frame-pointer " + keepFP, "-ffunction-sections -Wl,--gc-sections", "-flto", "-fno-plt -Wl,-z,now",
		"-Wl,-z,noseparate-code", "-fuse-ld=gold", "-Wl,--no-eh-frame-hdr", "-fno-dwarf2-cfi-asm", "-pg -fno-omit-frame-pointer",
		"-fno-asynchronous-unwind-tables -g", "-fno-asynchronous-unwind-tables -g -gz -gdwarf-4",
	} {
		want := all
		switch flags {
		case "-pg -fno-omit-frame-pointer":
			want = exactly(0.9, "main a b c spin", "main ... mcount|_mcount|__mcount_internal|?libc.so.6")
		case "-fsplit-stack":
			want = exactly(0.9, "main a b c spin", "main ... __morestack ...")
		}
		base := "-O2 " + noFP + " "
		if strings.Contains(flags, keepFP) {
			base = "-O2 "
		}
		add("gcc", base+flags, want)
	}
	add("musl-gcc", "-O2 "+noFP, all)
	add("musl-gcc", "-O2 "+noFP+" -static", all)
	add("musl-gcc", "-O2 "+keepFP, all)
	runAll(t, enoughSamples, programs)
}

// Stacks that are not made by calls alone.
func TestUnusualStacks(t *testing.T) {
	var programs []program
	add := func(name, build string, want expectation, args ...string) {
		programs = append(programs, program{name: name, build: build, args: args, expectation: want})
	}
	for _, cc := range []string{"gcc", "clang-14"} {
		for _, level := range []string{"-O0", "-O2"} {
			name := func(what string) string { return what + "_" + cc + level }
			c := func(what, flags string, want expectation, args ...string) {
				source, _, _ := strings.Cut(what, "_")
				add(name(what), compile(cc, name(what), source+".c", level, noFP, flags), want, args...)
			}
			c("aligned", "-mavx2 -fno-optimize-sibling-calls", exactly(0.8, "main a b c d spin", "main a b c d memset|__memset_*|?libc.so.6", "main a b c memset|__memset_*|?libc.so.6"))
			tail := exactly(0.9, "main b last spin", "main after", "main a b")
			if level == "-O0" {
				tail = exactly(0.9, "main a b last spin", "main after")
			}
			tail.chains = append(tail.chains, "main ... spin ...", "main __sigsetjmp|_setjmp|__sigjmp_save|?libc.so.6|setjmp")
			c("tail", "-foptimize-sibling-calls", tail)
			signal := exactly(0.1, "main __restore_rt|?libc.so.6 handler spin", "main outer __restore_rt|?libc.so.6 handler spin", "main outer inner __restore_rt|?libc.so.6 handler spin")
			c("signal", "-fno-optimize-sibling-calls", signal)
			c("signal_other", "-fno-optimize-sibling-calls", signal, "own stack")
			c("jump", "-fno-optimize-sibling-calls", exactly(0.7, "main a b c spin", "main a b c longjmp|__longjmp|_longjmp|__libc_siglongjmp|____longjmp_chk|_longjmp_unwind|?libc.so.6 ...", "main __sigsetjmp|_setjmp|__sigjmp_save|setjmp|?libc.so.6"))
			c("threads", "-pthread", exactly(0.9, "worker a spin"))
			c("threads_alone", "-pthread", exactly(0.9, "worker a spin"), "main ends")
			coroutine := exactly(0.7, "entry x y spin", "entry x y swapcontext|?libc.so.6 ...")
			// Where it has changed the stack, it is described as before.
			coroutine.lone = []string{"swapcontext", "?libc.so.6"}
			c("coroutine", "", coroutine)
		}
	}
	for _, name := range []string{"threads_musl", "signal_musl"} {
		source, _, _ := strings.Cut(name, "_")
		chain := calls("worker a spin")
		if source == "signal" {
			chain = "main ... __restore_rt|?libc.so handler spin"
		}
		add(name, compile("musl-gcc", name, source+".c", "-O2 -pthread", noFP), exactly(0.3, chain, "main ..."))
		add(name+"_static", compile("musl-gcc", name+"_static", source+".c", "-O2 -pthread -static", noFP), exactly(0.3, chain, "main ..."))
	}
	for _, n := range []int{100, 127, 128, 500, 1000} {
		add(fmt.Sprint("deep", n), compile("gcc", fmt.Sprint("deep", n), "deep.c", "-O2 -fno-optimize-sibling-calls", noFP),
			exactly(1-aFew, calls("main"+strings.Repeat(" down", n)+" spin")), fmt.Sprint(n))
	}
	runAll(t, enoughSamples, programs)
}

// Exceptions: while the unwinder of libgcc makes the frame of a handler the
// current one, nobody can walk from there, and stacks say that they are cut.
func TestExceptions(t *testing.T) {
	var programs []program
	for name, flags := range map[string]string{
		"throw-O0": "-O0 " + noFP, "throw-O2": "-O2 " + noFP, "throw-O2-fp": "-O2 " + keepFP, "throw-static": "-O2 -static " + noFP,
	} {
		programs = append(programs, program{
			name: name, build: compile("g++", name, "throw.cc", flags, "-fno-optimize-sibling-calls"),
			expectation: expectation{chains: []calls{"main a spin", "main a ...", "... worker sorter ... less spin", "... sorter ..."}, whole: 0.3, incomplete: 0.06},
		})
	}
	slices.SortFunc(programs, func(a, b program) int { return strings.Compare(a.name, b.name) })
	runAll(t, 2000, programs)
}

// Code in assembly that describes itself, that keeps a frame pointer, and that
// does neither: the stack is cut there and says so.
func TestAssembly(t *testing.T) {
	assembly := func(name string, want expectation, flags string, args ...string) program {
		return program{name: name, build: compile("gcc", name, "assembly.c", "-O2", flags), args: args, expectation: want}
	}
	cut := expectation{chains: []calls{"bare|main|a ..."}, incomplete: 1}
	runAll(t, enoughSamples, []program{
		assembly("described", exactly(0.9, "main a described spin"), noFP),
		assembly("pointer", exactly(0.9, "main a pointer spin"), noFP, "2"),
		assembly("bare", cut, noFP, "2", "3"),
		assembly("bare_fp", cut, keepFP, "2", "3"),
	})
}

// Calls into the C library, which keeps no frame pointers: most of the time the
// CPU is in the kernel, and the registers are those it saved.
func TestBlockingCalls(t *testing.T) {
	var programs []program
	for what, inside := range map[string]calls{
		"read":    "read|__read|__GI___libc_read|__libc_read",
		"getline": "getline|__getline|_IO_getdelim|getdelim|__getdelim|free|malloc|cfree|rewind|__libc_malloc|__libc_free ...",
		"qsort":   "... compare",
		"wait":    "...",
		"fault":   "...",
		"vfork":   "vfork|__vfork|_exit|waitpid|__wait4|wait4 ...",
		"clock":   "clock_gettime|__clock_gettime|__clock_gettime@GLIBC_2.2.5 ...",
	} {
		for _, flags := range []string{noFP, keepFP} {
			name := what + flags
			programs = append(programs, program{
				name: name, build: compile("gcc", name, "blocking.c", "-O2 -pthread", flags), args: []string{what},
				expectation: exactly(0.5, "main a b "+inside, "main a b ..."),
			})
		}
	}
	slices.SortFunc(programs, func(a, b program) int { return strings.Compare(a.name, b.name) })
	runAll(t, enoughSamples, programs)
}

// Calls by way of linkage tables, lazy and not.
func TestLinkageTables(t *testing.T) {
	var programs []program
	for name, flags := range map[string]string{
		"lazy": "-Wl,-z,lazy", "now": "-Wl,-z,now", "lazy_cet": "-fcf-protection -Wl,-z,lazy", "lazy_gold": "-fuse-ld=gold -Wl,-z,lazy", "noplt": "-fno-plt",
		"lazy_static": "-no-pie -Wl,-z,lazy",
	} {
		programs = append(programs, program{
			name:        name,
			build:       "gcc -O2 -shared -fPIC -o lib" + name + ".so $S/tiny.c && " + compile("gcc", name, "linkage.c", "-O2", noFP, flags) + " -L. -l" + name,
			expectation: exactly(0.01, "main a tiny|small|?"+calls(name)),
		})
	}
	runAll(t, enoughSamples, programs)
}
