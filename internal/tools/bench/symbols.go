//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/flametel/flametel/internal/tools/measure"
)

const (
	manyLibraries = 150
	manyProcesses = 300
	// perProcess is how many of the libraries each process loads, as many as
	// programs of desktops and servers do.
	perProcess = 20
	// perLibrary is the functions of each.
	perLibrary = 300
)

// symbols measures the memory that names of many programs take: flametel records
// a host where 300 processes run code of 150 libraries.
func symbols(ctx context.Context, s settings) error {
	program, err := buildMany(ctx, s.dir)
	if err != nil {
		return err
	}
	var load measure.Group
	defer load.Stop()
	load.Dir = s.dir
	for i := range manyProcesses {
		if _, err := load.Start(program, strconv.Itoa(i)); err != nil {
			return err
		}
	}
	out := filepath.Join(s.dir, "out.folded")
	t := tool{"flametel record", func(string) (*exec.Cmd, error) {
		return exec.Command("bin/flametel", "record", "-d", "3600", "-F", "99", "-o", out), nil
	}}
	r, err := t.start(s.dir)
	if err != nil {
		return err
	}
	defer r.kill()
	watched, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	usage, err := measure.Watch(watched, r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	last, err := measure.Resident(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	if _, err := r.stop(); err != nil {
		return err
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	libraries, functions := seen(string(text))
	if libraries == 0 {
		return fmt.Errorf("no library has a sample:\n%s", r.output)
	}
	return measure.Table(s.out, [][]string{
		{"processes", "libraries with samples", "functions with samples", "over", "resident mean / peak / last MiB", "% of a CPU"},
		{
			strconv.Itoa(manyProcesses), fmt.Sprintf("%d of %d", libraries, manyLibraries), strconv.Itoa(functions),
			fmt.Sprintf("%.0f s", usage.Elapsed.Seconds()),
			fmt.Sprintf("%.0f / %.0f / %.0f", mebibytes(usage.MeanBytes), mebibytes(usage.MaxBytes), mebibytes(last)),
			fmt.Sprintf("%.2f", usage.CPUPercent()),
		},
	})
}

var manyFunction = regexp.MustCompile(`\bmany_(\d+)_work_\d+\b`)

// seen counts the libraries and functions that have samples.
func seen(folded string) (libraries, functions int) {
	all, files := map[string]bool{}, map[string]bool{}
	for _, m := range manyFunction.FindAllStringSubmatch(folded, -1) {
		all[m[0]], files[m[1]] = true, true
	}
	return len(files), len(all)
}

// buildMany compiles the libraries, each with names and a build ID of its own,
// and the program that loads some of them.
func buildMany(ctx context.Context, dir string) (program string, err error) {
	for i := range manyLibraries {
		var src strings.Builder
		for j := range perLibrary {
			fmt.Fprintf(&src, "__attribute__((noinline)) static long many_%d_work_%d(long n) { long x = %d; for (long i = 0; i < n; i++) x = x * 31 + (x >> 3) + i; return x; }\n", i, j, j)
		}
		src.WriteString("long work(int which, long n) {\n	switch (which) {\n")
		for j := range perLibrary {
			fmt.Fprintf(&src, "	case %d: return many_%d_work_%d(n) + 1;\n", j, i, j)
		}
		src.WriteString("	}\n	return 0;\n}\n")
		name := fmt.Sprintf("libmany%d", i)
		if err := os.WriteFile(filepath.Join(dir, name+".c"), []byte(src.String()), 0o600); err != nil {
			return "", err
		}
		if err := gcc(ctx, dir, "-O0", "-shared", "-fPIC", "-Wl,--build-id", "-o", name+".so", name+".c"); err != nil {
			return "", err
		}
	}
	main := fmt.Sprintf(manyMain, dir, manyLibraries, perProcess, perLibrary)
	if err := os.WriteFile(filepath.Join(dir, "many.c"), []byte(main), 0o600); err != nil {
		return "", err
	}
	return filepath.Join(dir, "many"), gcc(ctx, dir, "-O1", "-fno-omit-frame-pointer", "-o", "many", "many.c", "-ldl")
}

func gcc(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "gcc", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("gcc %v: %w\n%s", args, err, out)
	}
	return nil
}

// manyMain works for some two milliseconds, in one of its libraries after the
// other, then sleeps for some half a second: 300 of it use about one CPU.
const manyMain = `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	unsigned id = atoi(argv[argc - 1]);
	long (*work[%[3]d])(int, long), sum = 0;
	for (unsigned i = 0; i < %[3]d; i++) {
		char name[4096];
		snprintf(name, sizeof name, "%[1]s/libmany%%u.so", (id * 7 + i * 11) %% %[2]d);
		void *lib = dlopen(name, RTLD_NOW);
		if (!lib) return 1;
		work[i] = (long (*)(int, long))dlsym(lib, "work");
	}
	srand(id);
	for (;;) {
		sum += work[rand() %% %[3]d](rand() %% %[4]d, 500000);
		usleep(400000 + rand() %% 200000);
		if (sum == 42) puts("");
	}
}
`
