package gosym

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gosym")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// programs are the variants of testdata/program, each built once.
var programs struct {
	dir   string
	mu    sync.Mutex
	built map[string]string
}

// variant is a way of building testdata/program.
type variant struct {
	name string
	env  string   // more of the environment
	args []string // of go build, or of go test
	// test builds the test binary of the program instead.
	test bool
	// after is done to the file: words are a command that gets its name, or
	// "headerless".
	after []string
	// other is an architecture that does not run here.
	other bool
}

func variants() []variant {
	return []variant{
		{name: "plain", env: "CGO_ENABLED=0"},
		{name: "small", env: "CGO_ENABLED=0", args: []string{"-ldflags=-s -w"}},
		{name: "small headerless", env: "CGO_ENABLED=0", args: []string{"-ldflags=-s -w"}, after: []string{"headerless"}},
		{name: "pie", env: "CGO_ENABLED=0", args: []string{"-buildmode=pie", "-ldflags=-s -w"}},
		{name: "pie headerless", env: "CGO_ENABLED=0", args: []string{"-buildmode=pie", "-ldflags=-s -w"}, after: []string{"headerless"}},
		{name: "cgo external strip", env: "CGO_ENABLED=1", args: []string{"-ldflags=-linkmode=external"}, after: []string{"strip"}},
		{name: "cgo external headerless", env: "CGO_ENABLED=1", args: []string{"-ldflags=-linkmode=external"}, after: []string{"headerless"}},
		{name: "cgo internal", env: "CGO_ENABLED=1", args: []string{"-ldflags=-linkmode=internal -s -w"}},
		{name: "pie external strip", env: "CGO_ENABLED=1", args: []string{"-buildmode=pie", "-ldflags=-linkmode=external"}, after: []string{"strip"}},
		{name: "pie external headerless", env: "CGO_ENABLED=1", args: []string{"-buildmode=pie", "-ldflags=-linkmode=external"}, after: []string{"headerless"}},
		{name: "c-shared strip", env: "CGO_ENABLED=1", args: []string{"-buildmode=c-shared"}, after: []string{"strip"}, other: true},
		{name: "test", env: "CGO_ENABLED=0", test: true},
		{name: "not optimized", env: "CGO_ENABLED=0", args: []string{"-gcflags=-N -l", "-trimpath"}},
		{name: "arm64", env: "GOARCH=arm64", args: []string{"-ldflags=-s -w"}, other: runtime.GOARCH != "arm64"},
		{name: "386", env: "GOARCH=386", args: []string{"-ldflags=-s -w"}, other: runtime.GOARCH != "amd64"},
	}
}

// variantNamed returns one of variants.
func variantNamed(t testing.TB, name string) variant {
	t.Helper()
	for _, v := range variants() {
		if v.name == name {
			return v
		}
	}
	require.Fail(t, "no variant "+name)
	return variant{}
}

// buildVariant returns the path of the program built as v says.
func buildVariant(t testing.TB, v variant) string {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	if path := programs.built[v.name]; path != "" {
		return path
	}
	path := filepath.Join(programs.dir, strings.ReplaceAll(v.name, " ", "_"))
	args := []string{"build"}
	if v.test {
		args = []string{"test", "-c"}
	}
	args = append(append(args, v.args...), "-o", path, ".")
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Join("testdata", "program")
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", v.env)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "go %s: %s", args, out)
	switch {
	case v.after == nil:
	case v.after[0] == "headerless":
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = f.WriteAt(make([]byte, 8), 0x28) // e_shoff
		require.NoError(t, err)
		_, err = f.WriteAt(make([]byte, 4), 0x3c) // e_shnum, e_shstrndx
		require.NoError(t, err)
		require.NoError(t, f.Close())
	default:
		out, err := exec.Command(v.after[0], path).CombinedOutput()
		require.NoError(t, err, "%s: %s", v.after, out)
	}
	if programs.built == nil {
		programs.built = map[string]string{}
	}
	programs.built[v.name] = path
	return path
}

// openTable opens the table of a file that stays open until the test ends.
func openTable(t testing.TB, path string) *Table {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	require.NoError(t, err)
	e, err := elffile.New(f, st.Size())
	require.NoError(t, err)
	table, err := Open(e, f)
	require.NoError(t, err)
	return table
}

// openBytes opens the table of a file in memory.
func openBytes(b []byte) (*Table, error) {
	f, err := elffile.New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return Open(f, bytes.NewReader(b))
}

// functions returns the ranges of all functions by their names.
func functions(t testing.TB, table *Table) map[string]Func {
	t.Helper()
	m := make(map[string]Func, table.Len())
	for i := range table.Len() {
		f, err := table.FuncAt(i)
		require.NoError(t, err)
		lines, err := table.Lookup(f.Start, nil)
		require.NoError(t, err)
		if len(lines) > 0 {
			m[lines[len(lines)-1].Name] = f
		}
	}
	return m
}

func linesAt(t testing.TB, table *Table, pc addr.File) []Line {
	t.Helper()
	lines, err := table.Lookup(pc, nil)
	require.NoError(t, err)
	return lines
}
