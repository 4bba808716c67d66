//go:build integration

package pprof_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/pprof"
	"github.com/flametel/flametel/internal/loopback"
)

// named has code of a file that exists, with wrong addresses: whoever symbolizes
// it again gives other names.
func named(t *testing.T) *callgraph.Graph {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	app := &callgraph.Mapping{Start: 0x400000, Limit: 0x900000, File: self, BuildID: "abcd"}
	m := callgraph.NewMerger(1)
	m.Add([]int32{
		m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process}),
		m.Frame(callgraph.Frame{Name: "outer", Kind: callgraph.User, Module: self, Mapping: app, Address: 0x401000, File: "/src/a.c", Line: 9}),
		m.Frame(callgraph.Frame{Name: "inner()", Kind: callgraph.User, Inlined: true, Module: self, Mapping: app, Address: 0x401000, File: "/src/b.h", Line: 2}),
		m.Frame(callgraph.Frame{Name: "ksys_read", Kind: callgraph.Kernel, Module: "[kernel]", Mapping: &callgraph.Mapping{File: "[kernel]"}, Address: 0xffffffff81000000}),
	}, 0, 5)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	g.PeriodType, g.Period = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}, 10101010
	g.Meta.Start = stackgen.Start()
	return g
}

func file(t *testing.T, graphs ...*callgraph.Graph) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, pprof.Write(f, graphs, pprof.Options{}))
	require.NoError(t, f.Close())
	return path
}

func tool(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	// The program itself, as go tool would leave it running when it is killed.
	program, err := exec.Command("go", "tool", "-n", "pprof").Output()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(program)), args...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir(), "PPROF_BINARY_PATH=")
	return cmd
}

// Names that we have are not looked up again, neither in the file nor elsewhere.
func TestToolDoesNotSymbolizeAgain(t *testing.T) {
	path := file(t, named(t))
	for _, args := range [][]string{{"-top"}, {"-top", "-lines"}, {"-peek=outer|inner|ksys"}} {
		out, err := tool(t, append(args, path)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, name := range []string{"outer", "inner()", "ksys_read"} {
			assert.Contains(t, string(out), name)
		}
		assert.NotContains(t, strings.ToLower(string(out)), "symboliz")
	}
}

// The pages of go tool pprof -http open.
func TestToolServesItsPages(t *testing.T) {
	other := named(t)
	other.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	cmd := tool(t, "-http="+loopback.Address(t).String(), "-no_browser", file(t, named(t), other))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "Serving web UI on ")
	}
	require.NotEmpty(t, address)
	for _, page := range []string{"/flamegraph", "/top", "/peek?f=outer|inner|ksys", "/top?si=off_cpu"} {
		res, err := http.Get(address + "/ui" + page)
		for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); { // it speaks before it listens
			time.Sleep(10 * time.Millisecond)
			res, err = http.Get(address + "/ui" + page)
		}
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, http.StatusOK, res.StatusCode, "%s: %.300s", page, body)
		for _, name := range []string{"ksys_read", "inner()"} {
			assert.True(t, strings.Contains(string(body), name), "%s shows no %s", page, name)
		}
	}
}
