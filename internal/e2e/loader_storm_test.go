//go:build integration

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requests is how many pages are asked for in each run, firstRequests how many
// of them before the first profile: by then the tables are there by which stacks
// are walked.
const (
	requests      = 200
	firstRequests = 20
)

// The example of docs/loader-storm.md: system calls and opened files as often
// as strace counts them, for the server that looks for its plugin at each
// request and for its fixed twin.
func TestLoaderStormIsCountedAsStraceCountsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	msg, err := exec.Command(filepath.Join(root, "examples", "loader-storm", "build.sh"), dir).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	for _, test := range []struct {
		program string
		opens   float64 // for each request
	}{
		{"storm", 8 * 16}, // the plugin and seven libraries in sixteen folders
		{"storm-fixed", 0},
	} {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()
			traced := straced(t, dir, test.program)
			calls, opens := profiled(t, dir, test.program)
			assert.InDelta(t, test.opens, float64(calls["openat"])/requests, 0.01*test.opens)
			assert.Equal(t, calls["openat"], opens.total(), "both kinds see the same opens")
			if test.opens > 0 {
				missing := opens.with(func(frames []string) bool { return frames[len(frames)-2] == "error:ENOENT" })
				assert.InEpsilon(t, 8*15*requests, missing.total(), 0.01)
				byPlugin := opens.with(func(frames []string) bool { return slices.Contains(frames, "open_plugin") })
				assert.Greater(t, byPlugin.total(), int64(8*16*(requests-firstRequests)*9/10), "who opens them is known")
			}
			// Others depend on how threads meet, such as futex.
			for _, name := range []string{"openat", "mmap", "mprotect", "munmap", "read", "close", "sendto", "newfstatat"} {
				perRequest := float64(traced[name]) / requests
				assert.InDelta(t, perRequest, float64(calls[name])/requests, 0.01*perRequest+0.02, name)
			}
		})
	}
}

// A stormServer is the example's server.
type stormServer struct {
	url  string
	stop func() // may be called more than once
}

// startStorm starts the server, below the command that wrapper is.
func startStorm(t *testing.T, dir, program string, wrapper ...string) (stormServer, *exec.Cmd) {
	t.Helper()
	path, err := os.ReadFile(filepath.Join(dir, "search-path"))
	require.NoError(t, err)
	command := append(wrapper, filepath.Join(dir, program), "0")
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+string(path))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := stormServer{stop: func() {
		// The server itself, so that strace ends with it and tells what it counted.
		pid := cmd.Process.Pid
		if len(wrapper) > 0 {
			pid = childOf(pid)
		}
		if p, err := os.FindProcess(pid); err == nil && pid > 0 && cmd.ProcessState == nil {
			_ = p.Kill()
		}
		_ = cmd.Wait()
	}}
	t.Cleanup(s.stop)
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	s.url = fmt.Sprintf("http://127.0.0.1:%s/", strings.TrimSpace(port))
	return s, cmd
}

// ask asks for pages, one after the other on one connection.
func (s stormServer) ask(t *testing.T, n int) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range n {
		answer, err := client.Get(s.url)
		require.NoError(t, err)
		page, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		_ = answer.Body.Close()
		require.Equal(t, "the answer is 17997\n", string(page))
	}
}

var straceLine = regexp.MustCompile(`(?m)^ *[0-9.]+ +[0-9.]+ +[0-9]+ +(\d+) +(?:\d+ +)?(\w+)$`)

// straced returns what strace counts for the requests: the calls of a run with
// them less those of a run with one.
func straced(t *testing.T, dir, program string) map[string]int64 {
	t.Helper()
	counted := map[string]int64{}
	for _, run := range []struct{ requests, sign int64 }{{1 + requests, 1}, {1, -1}} {
		table := filepath.Join(t.TempDir(), "strace")
		s, _ := startStorm(t, dir, program, "strace", "-f", "-c", "-o", table)
		s.ask(t, int(run.requests))
		s.stop()
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		lines := straceLine.FindAllSubmatch(text, -1)
		require.NotEmpty(t, lines, "strace printed no table:\n%s", text)
		for _, line := range lines {
			n, err := strconv.ParseInt(string(line[1]), 10, 64)
			require.NoError(t, err)
			counted[string(line[2])] += run.sign * n
		}
	}
	return counted
}

// profiled returns how often each call was counted in our profile of the
// requests, and the profile of opened files.
func profiled(t *testing.T, dir, program string) (calls map[string]int64, opens stacks) {
	t.Helper()
	s, cmd := startStorm(t, dir, program)
	s.ask(t, 1)
	c := start(t, fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, cpu: {enabled: false}, syscalls: {}, file_opens: {}, targets: {pids: [%d]}}}
exporters: {flamegraph: {path: "{type}.folded", interval: 0, annotations: false}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], exporters: [flamegraph]}}
`, cmd.Process.Pid))
	s.ask(t, firstRequests)
	eventually(t, "the first profile", func() bool {
		_, err := os.Stat(c.path("syscalls.folded"))
		return err == nil
	})
	s.ask(t, requests-firstRequests)
	c.interrupt()
	calls = map[string]int64{}
	for stack, n := range readFolded(t, c.path("syscalls.folded")) {
		name := stack[strings.LastIndexByte(stack, ';')+1:]
		calls[strings.TrimPrefix(name, "syscall:")] += n
	}
	opens = stacks{}
	if text, err := os.ReadFile(c.path("opens.folded")); err == nil && len(bytes.TrimSpace(text)) > 0 {
		opens = readFolded(t, c.path("opens.folded"))
	}
	return calls, opens
}
