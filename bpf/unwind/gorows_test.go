package unwind

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/gosym"
)

// goBuild builds testdata/work.go for a machine, stripped.
func goBuild(t *testing.T, arch string) (*Table, *gosym.Table) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, fixture(t, "work.go"))
	cmd.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)
	f, r := openFile(t, out)
	table, err := Compile(f, r, Options{})
	require.NoError(t, err)
	names, err := gosym.Open(f, r)
	require.NoError(t, err)
	return table, names
}

// goFunctions returns all functions of a program by name.
func goFunctions(t *testing.T, names *gosym.Table) map[string]gosym.Func {
	t.Helper()
	all := map[string]gosym.Func{}
	for i := range names.Len() {
		f, err := names.FuncAt(i)
		require.NoError(t, err)
		lines, err := names.Lookup(f.Start, nil)
		require.NoError(t, err)
		if len(lines) > 0 {
			all[lines[len(lines)-1].Name] = f
		}
	}
	return all
}

func goRules(table *Table, f gosym.Func) []string {
	var out []string
	for at := f.Start; at < f.Limit; at++ {
		if text := table.Lookup(at).String(); len(out) == 0 || out[len(out)-1] != text {
			out = append(out, text)
		}
	}
	return out
}

func TestGo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		arch  string
		rules map[string]string // of the first instruction
	}{
		"amd64": {"amd64", map[string]string{
			"runtime.goexit": "end: no caller", "runtime.mstart": "end: no caller", "runtime.rt0_go": "end: no caller",
			"runtime.systemstack": "stack switch: follow the frame pointer", "runtime.mcall": "stack switch: follow the frame pointer",
			"runtime.morestack":            "stack growth: where the goroutine stopped",
			"runtime.sigreturn__sigaction": "signal frame",
			"runtime.sigtramp":             "cfa=sp+8", "runtime.nanotime1": "cfa=sp+8", "main.work": "cfa=sp+8", "runtime.memmove": "cfa=sp+8",
		}},
		"arm64": {"arm64", map[string]string{
			"runtime.goexit": "end: no caller", "runtime.mstart": "end: no caller",
			"runtime.systemstack": "stack switch: follow the frame pointer",
			"main.work":           "cfa=sp+0 ra=x30", "runtime.memmove": "cfa=sp+0 ra=x30",
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, names := goBuild(t, tt.arch)
			assert.True(t, table.Complete)
			start, limit := names.Text()
			assert.Equal(t, []addr.File{start, limit}, []addr.File{table.GoStart, table.GoLimit})
			all := goFunctions(t, names)
			for name, want := range tt.rules {
				assert.Equal(t, want, table.Lookup(all[name].Start).String(), name)
			}
		})
	}
}

func TestFramesOfGo(t *testing.T) {
	t.Parallel()
	amd64, names := goBuild(t, "amd64")
	all := goFunctions(t, names)
	recurse := goRules(amd64, all["main.recurse"])
	require.Greater(t, len(recurse), 4) // before and after; the frame pointer pushed; the whole frame
	assert.Equal(t, []string{"cfa=sp+8", "cfa=sp+16 fp=[cfa-16]"}, recurse[:2])
	assert.Contains(t, recurse[2], " fp=[cfa-16]")
	// Between pushing the frame pointer and setting it, SP is still right.
	assert.Equal(t, []string{"cfa=sp+8", "cfa=sp+16 fp=[cfa-16]", "stack switch: follow the frame pointer"},
		goRules(amd64, all["runtime.nanotime1"])[:3])
	// The kernel returns to the first byte: one less belongs to it as well.
	assert.Equal(t, KindSignal, amd64.Lookup(all["runtime.sigreturn__sigaction"].Start-1).Kind)

	arm64, names := goBuild(t, "arm64")
	rules := goRules(arm64, goFunctions(t, names)["main.recurse"])
	assert.Contains(t, rules[1], " fp=[sp-8] ra after it")
}

// TestMixedProgram has code of C and of Go.
func TestMixedProgram(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{
		"go.mod": "module mixed\n",
		"a.go":   "package main\n\n// int twice(int n);\nimport \"C\"\n\nfunc main() { println(C.twice(2)) }\n",
		"a.c":    "#include <stdlib.h>\nint twice(int n) { volatile char pad[300]; pad[n] = rand(); return pad[n] + 2 * n; }\n",
	})
	cmd := exec.Command("go", "build", "-o", "program", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CFLAGS=-O2 -fomit-frame-pointer", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	table, f := compileFile(t, filepath.Join(dir, "program"))
	assert.Equal(t, "cfa=sp+8", table.Lookup(symbolAt(t, f, "twice")).String())
	assert.Equal(t, "cfa=sp+8", table.Lookup(symbolAt(t, f, "main.main")).String())
	assert.Equal(t, KindSwitch, table.Lookup(symbolAt(t, f, "runtime.asmcgocall.abi0")).Kind)
	assert.Equal(t, KindEnd, table.Lookup(symbolAt(t, f, "_start")).Kind)
	assert.True(t, table.Complete)
}

// TestRealFiles compiles files of this system and of arm64: all of them are
// understood, and what is not expressed stays rare.
func TestRealFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rows        int // at least
		unsupported int // at most
	}{
		"/lib64/ld-linux-x86-64.so.2":                      {1500, 2},
		"/usr/lib/x86_64-linux-gnu/libc.so.6":              {20000, 8},
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6":         {20000, 2},
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3":         {50000, 2},
		"/usr/bin/python3":                                 {40000, 2},
		"/usr/bin/node":                                    {200000, 2},
		"/usr/aarch64-linux-gnu/lib/libc.so.6":             {8000, 50},
		"/usr/aarch64-linux-gnu/lib/libstdc++.so.6":        {8000, 5},
		"/usr/aarch64-linux-gnu/lib/libm.so.6":             {1500, 5},
		"/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1": {700, 8},
	}
	for path, want := range tests {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			table, f := compileFile(t, path)
			assert.True(t, table.Complete)
			assert.GreaterOrEqual(t, len(table.Rows), want.rows)
			n := 0
			for _, c := range table.Stats.Unsupported {
				n += c
			}
			assert.LessOrEqual(t, n, want.unsupported)
			assert.Greater(t, share(table, f), 0.85, "share of the code that has rows")
		})
	}
}

// share is how much of the executable sections has rows.
func share(t *Table, f *elffile.File) float64 {
	var code uint64
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Flags&4 != 0 {
			code += s.Size
		}
	}
	return float64(t.Stats.Covered) / float64(code)
}

func BenchmarkCompile(b *testing.B) {
	for _, path := range []string{"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/node"} {
		b.Run(filepath.Base(path), func(b *testing.B) {
			f, r := openFile(b, path)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(f, r, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
