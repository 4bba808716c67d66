//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/flametel/flametel/exporter/folded"
)

// perlScript is the first flame graph, as Debian's libdevel-nytprof-perl has it.
const perlScript = "/usr/share/perl5/Devel/NYTProf/flamegraph.pl"

// maxPerl is how many stacks it is given: a million take it minutes and 6 GB.
const maxPerl = 100_000

// compareFiles makes flame graphs of the same folded stacks with flametel and
// with flamegraph.pl, whole programs both. Flametel's have all frames,
// flamegraph.pl leaves narrow ones out. It returns the files of flamegraph.pl.
func compareFiles(ctx context.Context, dir string, sizes []string) (map[string]string, error) {
	fmt.Println("\nThe same folded stacks, by whole programs:\n\n" +
		"| tool | stacks | CPU s | peak MiB | file, MB |\n| --- | --- | --- | --- | --- |")
	files := map[string]string{}
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, err
		}
		input, output := filepath.Join(dir, size+".folded"), filepath.Join(dir, size+"-converted.svg")
		if err := writeFolded(input, n); err != nil {
			return nil, err
		}
		if err := measure(ctx, "flametel convert", size, output, "", "bin/flametel", "convert", "-q", input, "-o", output); err != nil {
			return nil, err
		}
		if n > maxPerl {
			continue
		}
		output = filepath.Join(dir, size+"-perl.svg")
		if err := measure(ctx, "flamegraph.pl", size, output, output, "perl", perlScript, "--width", "1368", input); err != nil {
			return nil, err
		}
		files[size] = output
	}
	return files, nil
}

func writeFolded(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return folded.Write(f, graph(n), folded.Options{})
}

// measure runs a program, its standard output in a file if one is given, and
// prints what it took to make output.
func measure(ctx context.Context, tool, size, output, stdout string, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stderr = os.Stderr
	if stdout != "" {
		f, err := os.Create(stdout)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.Stdout = f
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	info, err := os.Stat(output)
	if err != nil {
		return err
	}
	state := cmd.ProcessState
	peak := int64(0) // KiB, getrusage(2)
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = u.Maxrss
	}
	fmt.Printf("| %s | %s | %.2f | %d | %.2f |\n", tool, size, (state.UserTime() + state.SystemTime()).Seconds(), peak>>10, float64(info.Size())/1e6)
	return nil
}

func perl() steps {
	const rects = `[...document.querySelectorAll('g.func_g > rect')]`
	return steps{"flamegraph.pl", `document.querySelectorAll('g.func_g').length > 0 && typeof zoom === 'function'`, []step{
		{"zoom", each(rects, `out.push(await after(() => zoom(target.parentNode))); unzoom();`)},
		{"unzoom", each(rects, `zoom(target.parentNode); out.push(await after(() => unzoom()));`)},
		{"search", `(async () => { const after = ` + after + `, out = [];
			for (const text of ['poll', 'read|write', '^std::', 'ctx', 'lock$', 'e']) out.push(await after(() => { reset_search(); search(text); })); return out; })()`},
	}}
}
