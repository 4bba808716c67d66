package gosym

import (
	"debug/elf"
	stdsym "debug/gosym"
	"go/build"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// goTool returns the path of a program of the Go distribution, which are the
// largest at hand.
func goTool(t testing.TB, name string) string {
	t.Helper()
	if name == "go" || name == "gofmt" {
		path, err := exec.LookPath(filepath.Join(build.Default.GOROOT, "bin", name))
		if err != nil {
			path, err = exec.LookPath(name)
		}
		require.NoError(t, err)
		return path
	}
	out, err := exec.Command("go", "tool", "-n", name).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// TestStandardLibraryAgrees compares with debug/gosym, which is what
// `go tool addr2line` prints.
func TestStandardLibraryAgrees(t *testing.T) {
	t.Parallel()
	paths := map[string]func(t *testing.T) string{
		"go":      func(t *testing.T) string { return goTool(t, "go") },
		"compile": func(t *testing.T) string { return goTool(t, "compile") },
	}
	for _, v := range variants() {
		if v.other || v.name == "plain" {
			paths[v.name] = func(t *testing.T) string { return buildVariant(t, v) }
		}
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := path(t)
			table := openTable(t, path)
			e, err := elf.Open(path)
			require.NoError(t, err)
			defer e.Close()
			data, err := e.Section(".gopclntab").Data()
			require.NoError(t, err)
			std, err := stdsym.NewTable(nil, stdsym.NewLineTable(data, uint64(table.base)))
			require.NoError(t, err)

			differ, inlined, padding := 0, 0, 0
			for _, pc := range sampleText(table) {
				file, line, fn := std.PCToLine(uint64(pc))
				lines := linesAt(t, table, pc)
				if len(lines) == 0 {
					// It counts padding to the function before it.
					padding++
					require.LessOrEqual(t, line, 0, "%#x is not named, but %s at %s:%d", pc, fn.Name, file, line)
					continue
				}
				if len(lines) > 1 {
					inlined++
				}
				last := lines[len(lines)-1]
				if last.RawName == "" {
					last.RawName = last.Name
				}
				require.Equal(t, fn.Name, last.RawName)
				if lines[0].File != file || lines[0].Line != int64(line) {
					// Marks of the linker have no tables, where it reads another's.
					assert.Empty(t, lines[0].File, "%#x is %v, but %s:%d", pc, lines, file, line)
					differ++
				}
			}
			assert.Greater(t, inlined, asked/20)
			assert.Less(t, padding, asked/5)
			assert.Less(t, differ, asked/200)
			t.Logf("%d of %d differ, %d inlined, %d padding", differ, asked, inlined, padding)
		})
	}
}
