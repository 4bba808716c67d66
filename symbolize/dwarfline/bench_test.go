package dwarfline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// large builds a file with about 100 MB of debug information: the same
// functions, each with a dozen inlined calls, in many units.
func large(b *testing.B, flags string) string {
	b.Helper()
	const units, functions, types = 200, 400, 600
	var src strings.Builder
	for i := range types {
		fmt.Fprintf(&src, "struct part_of_program_%d { long first_member, second_member; struct part_of_program_%d *next_part; char name[%d]; };\n", i, max(0, i-1), i+1)
	}
	src.WriteString("#define INLINE static inline __attribute__((always_inline))\nstatic volatile long sink;\n")
	src.WriteString("INLINE long inner(long x) { sink = x; return x * 31; }\nINLINE long middle(long x) { return inner(x) + inner(x ^ 5); }\n")
	for i := range functions {
		fmt.Fprintf(&src, "__attribute__((used, noinline)) static long function_%d(struct part_of_program_%d *p, long a) {\n	long r = middle(a) + p->first_member;\n	for (long j = 0; j < a; j++)\n		r ^= middle(j);\n	return r + middle(r);\n}\n", i, i%types)
	}
	dir := fixture.Build(b, map[string]string{"part.c": src.String(), "main.c": "void _start(void) {}\n"},
		"gcc -O2 -c main.c "+flags, "gcc -O2 -c part.c "+flags)
	part, err := os.ReadFile(filepath.Join(dir, "part.o"))
	require.NoError(b, err)
	link := "gcc -nostdlib -static " + flags + " -o large main.o"
	for i := range units {
		name := fmt.Sprintf("part%d.o", i)
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), part, 0o600))
		link += " " + name
	}
	fixture.Run(b, dir, strings.Fields(link)...)
	return filepath.Join(dir, "large")
}

// BenchmarkLarge opens a file of some 100 MB and looks up one address, then
// addresses all over the file, then some again and again.
func BenchmarkLarge(b *testing.B) {
	for name, flags := range map[string]string{"gcc": "-g", "no aranges": "-g", "compressed": "-g -gz=zlib"} {
		b.Run(name, func(b *testing.B) {
			path := large(b, flags)
			if name == "no aranges" {
				fixture.Run(b, filepath.Dir(path), "objcopy", "-R", ".debug_aranges", "large")
			}
			pcs := addresses(b, path, 100000)
			b.Run("first", func(b *testing.B) { benchmarkFirst(b, path, pcs) })
			b.Run("spread", func(b *testing.B) { benchmarkSpread(b, path, pcs) })
			b.Run("warm", func(b *testing.B) { benchmarkWarm(b, path, pcs[len(pcs)/2:][:500]) })
		})
	}
}

// onDisk is scratch in the folder of a benchmark.
func onDisk(b *testing.B) Options {
	return Options{Scratch: func(int64) (Scratch, error) { return os.CreateTemp(b.TempDir(), "scratch") }}
}

func benchmarkFirst(b *testing.B, path string, pcs []addr.File) {
	info, err := os.Stat(path)
	require.NoError(b, err)
	f, r := openELF(b, path)
	b.ReportAllocs()
	var d *Data
	for b.Loop() {
		d, err = Open(f, r, onDisk(b))
		require.NoError(b, err)
		lookup(b, d, pcs[len(pcs)/2])
		d.dropUnpacked()
	}
	cmd := exec.Command("addr2line", "-f", "-i", "-e", path, fmt.Sprintf("%#x", pcs[len(pcs)/2]))
	require.NoError(b, cmd.Run())
	theirs := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	b.ReportMetric(theirs.Seconds()/b.Elapsed().Seconds()*float64(b.N), "addr2line/ours")
	b.ReportMetric(float64(d.Bytes()), "held-B")
	b.ReportMetric(float64(info.Size())/1e6, "file-MB")
}

func benchmarkSpread(b *testing.B, path string, pcs []addr.File) {
	f, r := openELF(b, path)
	d, err := Open(f, r, onDisk(b))
	require.NoError(b, err)
	i, most := 0, int64(0)
	var lines []Line
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		lines, err = d.Lookup(pcs[i*7919%len(pcs)], lines[:0])
		if err != nil || len(lines) == 0 {
			b.Fatal(err, lines)
		}
		most = max(most, d.Bytes())
		i++
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(most), "most-held-B")
	b.ReportMetric(float64(after.HeapAlloc)-float64(before.HeapAlloc), "heap-B")
	runtime.KeepAlive(d)
}

func benchmarkWarm(b *testing.B, path string, pcs []addr.File) {
	f, r := openELF(b, path)
	d, err := Open(f, r, onDisk(b))
	require.NoError(b, err)
	var lines []Line
	for _, pc := range pcs {
		lines, _ = d.Lookup(pc, lines[:0])
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		lines, _ = d.Lookup(pcs[i%len(pcs)], lines[:0])
		i++
	}
}
