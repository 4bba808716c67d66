package gosym

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// asked is how many addresses of each program are compared.
const asked = 10_000

// mainPath is the import path of the program as it stands in names.
func mainPath(v variant) string {
	if v.test {
		return "fixture"
	}
	return "main"
}

// TestRuntimeAgrees compares what the table says with what the program itself
// says about the same addresses.
func TestRuntimeAgrees(t *testing.T) {
	for _, v := range variants() {
		if v.other {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			path := buildVariant(t, v)
			table := openTable(t, path)
			fns := functions(t, table)
			a, ok := fns[mainPath(v)+".a"]
			require.True(t, ok, "main.a is named")

			pcs := sampleText(table)
			for _, fn := range []string{"a", "generic[...]", "closure.func1", "assembly", "main"} {
				f, ok := fns[mainPath(v)+"."+fn]
				require.True(t, ok, "%s is named", fn)
				for pc := f.Start; pc < f.Limit; pc++ {
					pcs = append(pcs, pc)
				}
			}
			// The runtime is asked about the address plus one, which must not be
			// the start of another function.
			pcs = slices.DeleteFunc(pcs, func(pc addr.File) bool {
				next, ok, err := table.Func(pc + 1)
				require.NoError(t, err)
				return ok && next.Start == pc+1
			})
			var input strings.Builder
			for _, pc := range pcs {
				fmt.Fprintln(&input, int64(pc-a.Start))
			}
			cmd := exec.Command(path)
			cmd.Stdin = strings.NewReader(input.String())
			out, err := cmd.Output()
			require.NoError(t, err)
			answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			require.Len(t, answers, len(pcs))

			named := 0
			for i, pc := range pcs {
				words := strings.Split(answers[i], "\t")
				lines := linesAt(t, table, pc)
				if len(lines) == 0 {
					// Padding: the runtime knows no line of it either.
					require.Equal(t, "0", words[2], "%#x is not named, but %s", pc, words)
					continue
				}
				named++
				inner := lines[0]
				got := []string{inner.Name, inner.File, strconv.FormatInt(inner.Line, 10)}
				if words[0] == "" {
					// The runtime takes the first name of the table for none.
					words[0] = firstName(t, table)
				}
				if inner.File == "" {
					got[1] = words[1] // "?" there
				}
				require.Equal(t, words, got, "%#x", pc)
			}
			assert.Greater(t, named, len(pcs)*8/10)
		})
	}
}

// firstName returns the first of the names of functions.
func firstName(t *testing.T, table *Table) string {
	t.Helper()
	name, err := table.string(table.h.names, 0)
	require.NoError(t, err)
	return readable(name)
}

// sampleText returns addresses all over the functions, the first and the last
// function among them.
func sampleText(table *Table) []addr.File {
	start, limit := table.Text()
	r := rand.New(rand.NewPCG(uint64(start), 1))
	pcs := []addr.File{start, start + 1, limit - 1, limit - 16}
	for len(pcs) < asked {
		pcs = append(pcs, start+addr.File(r.Uint64N(uint64(limit-start))))
	}
	return pcs
}

// marks returns the lines of main.go that end with these comments.
func marks(t *testing.T) map[string]int64 {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "program", "main.go"))
	require.NoError(t, err)
	m := map[string]int64{}
	for i, line := range strings.Split(string(b), "\n") {
		if _, mark, ok := strings.Cut(line, " // "); ok {
			m[mark] = int64(i + 1)
		}
		if fn, ok := strings.CutPrefix(line, "func "); ok {
			name, _, _ := strings.Cut(fn, "(")
			m["func "+name] = int64(i + 1)
		}
	}
	return m
}

func TestInlinedCallsInnermostFirst(t *testing.T) {
	t.Parallel()
	at := marks(t)
	require.Contains(t, at, "a calls b")
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			table := openTable(t, buildVariant(t, v))
			pkg := mainPath(v)
			a := functions(t, table)[pkg+".a"]
			chains := map[string]bool{}
			for pc := a.Start; pc < a.Limit; pc++ {
				var words []string
				for _, l := range linesAt(t, table, pc) {
					assert.True(t, strings.HasSuffix(l.File, "main.go"), l.File)
					words = append(words, fmt.Sprintf("%s:%d (%d)", l.Name, l.Line, l.StartLine))
				}
				chains[strings.Join(words, " < ")] = true
			}
			want := fmt.Sprintf("%s.c:%d (%d) < %s.b:%d (%d) < %s.a:%d (%d)", pkg, at["c works"], at["func c"],
				pkg, at["b calls c"], at["func b"], pkg, at["a calls b"], at["func a"])
			if v.name == "not optimized" {
				want = fmt.Sprintf("%s.a:%d (%d)", pkg, at["a calls b"], at["func a"])
			}
			assert.Contains(t, chains, want)
		})
	}
}

// TestNames looks for one function of each kind in each program.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			table := openTable(t, buildVariant(t, v))
			fns := functions(t, table)
			pkg := mainPath(v)
			for _, want := range []string{
				pkg + ".a", pkg + ".main", pkg + ".generic[...]", pkg + ".(*pair[...]).swap", pkg + ".closure.func1",
				pkg + ".counter.value", pkg + ".(*counter).add", pkg + ".assembly", "runtime.mallocgc",
				"runtime.memmove",
			} {
				assert.Contains(t, fns, want)
			}
			generic := linesAt(t, table, fns[pkg+".generic[...]"].Start)
			require.NotEmpty(t, generic)
			assert.Regexp(t, `\.generic\[go\.shape\..*\]$`, generic[len(generic)-1].RawName)

			assert.Equal(t, Version120, table.Version())
			assert.Regexp(t, `^go1\.\d+`, table.GoVersion())
			assert.True(t, table.Inlines())
			start, limit := table.Text()
			assert.Empty(t, linesAt(t, table, start-1))
			assert.Empty(t, linesAt(t, table, limit))
			assert.Empty(t, linesAt(t, table, 0))
			assert.Empty(t, linesAt(t, table, ^addr.File(0)))
			assert.Less(t, table.Bytes(), table.MaxBytes()+1)
		})
	}
}

// TestFrameSizesOfAssembly has functions of which the sizes are known: the
// frame of main.assembly is 16 bytes and the saved frame pointer, and
// runtime.memmove has none.
func TestFrameSizesOfAssembly(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		if runtime.GOARCH != "amd64" || v.name == "arm64" || v.name == "386" {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			table := openTable(t, buildVariant(t, v))
			fns := functions(t, table)
			sizes := func(name string) map[int32]bool {
				f, ok := fns[name]
				require.True(t, ok)
				assert.True(t, f.Assembly)
				assert.False(t, f.TopFrame)
				frames, err := table.Frames(f.Start, nil)
				require.NoError(t, err)
				require.NotEmpty(t, frames)
				assert.Equal(t, f.Start, frames[0].Start)
				m := map[int32]bool{}
				for _, r := range frames {
					m[r.Bytes] = true
					n, ok, err := table.FrameSize(r.Limit - 1)
					require.NoError(t, err)
					assert.True(t, ok)
					assert.Equal(t, r.Bytes, n)
				}
				return m
			}
			got := sizes(mainPath(v) + ".assembly")
			assert.True(t, got[0] && got[24] && len(got) <= 3, "%v", got)
			assert.Equal(t, map[int32]bool{0: true}, sizes("runtime.memmove"))
			assert.True(t, fns["runtime.goexit"].TopFrame)
			assert.True(t, fns["runtime.systemstack"].WritesSP || fns["runtime.mcall"].WritesSP)
		})
	}
}
