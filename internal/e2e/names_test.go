//go:build integration

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

const (
	// namedShare is the least part of the frames, weighted by samples, that has
	// names on a host of mixed work; code that a runtime generated without telling
	// its names is not counted.
	namedShare = 0.97
	// recordedFor gives each of the programs some hundred samples.
	recordedFor = 30 * time.Second
)

// Work of every kind that hosts have, at the same time: programs that come and
// go, interpreters, generated code, stripped programs, servers. Nearly all of it
// has names. It runs alone, because it is about the whole host.
func TestWholeHostHasNames(t *testing.T) {
	dir := t.TempDir()
	load := startMixedWork(t, dir)
	cmd := exec.Command(flametelPath, "record", "-d", fmt.Sprint(int(recordedFor.Seconds())), "-o", "out.folded")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	load.stop()

	n := countNames(readFolded(t, filepath.Join(dir, "out.folded")))
	t.Logf("%.2f %% of %d frames have names; with the %d of generated code without a map: %.2f %%; unnamed: %v",
		100*n.named(), n.all-n.generated, n.generated, 100*float64(n.all-n.generated-n.unnamed)/float64(n.all), n.worst(12))
	t.Logf("%s", out)
	assert.GreaterOrEqual(t, n.named(), namedShare)
	for _, process := range []string{"cc1plus", "node", "python3", "java", "goservice", "nginx", "apt-cache"} {
		assert.Positive(t, n.processes[process], "samples of %s", process)
	}
	assertSummaryNames(t, string(out))
}

// assertSummaryNames requires that the summary tells how many frames are unknown
// and, if they are more than one in a hundred, in which five modules most are.
func assertSummaryNames(t *testing.T, text string) {
	t.Helper()
	share := regexp.MustCompile(`, <?([0-9.]+)% of frames unknown`).FindStringSubmatch(text)
	require.NotNil(t, share, "%s", text)
	list := regexp.MustCompile(`(?m)^unknown in (.*?)(; top by self time:)?$`).FindStringSubmatch(text)
	if list == nil {
		assert.Regexp(t, `^(0|0\.\d+|1\.0)$`, share[1], "the modules are left out only where hardly any frame is unknown")
		return
	}
	modules := strings.Split(list[1], ", ")
	assert.LessOrEqual(t, len(modules), 5)
	for _, m := range modules {
		assert.Regexp(t, `^\S.* <?[0-9.]+%$`, m)
	}
}

// names is how many frames have names, weighted by samples.
type names struct {
	all, unnamed int64
	generated    int64            // without a map, not among unnamed
	modules      map[string]int64 // unnamed frames
	processes    map[string]int64 // samples
}

func (n *names) named() float64 {
	return 1 - float64(n.unnamed)/float64(n.all-n.generated)
}

// worst lists the processes and modules with most unnamed frames.
func (n *names) worst(limit int) []string {
	var list []string
	for m := range n.modules {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b string) int { return int(n.modules[b] - n.modules[a]) })
	list = list[:min(limit, len(list))]
	for i, m := range list {
		list[i] = fmt.Sprintf("%s %d", m, n.modules[m])
	}
	return list
}

var unnamedFrame = regexp.MustCompile(`^(\[unknown\]|\[(.*)\]\+0x[0-9a-f]+)(_\[\w\])?$`)

func countNames(all stacks) *names {
	n := &names{modules: map[string]int64{}, processes: map[string]int64{}}
	for stack, count := range all {
		frames := strings.Split(stack, ";")
		n.processes[frames[0]] += count
		for _, f := range frames[1:] {
			n.all += count
			switch m := unnamedFrame.FindStringSubmatch(f); {
			case m == nil:
			case m[2] == "anon":
				n.generated += count
			default:
				n.unnamed += count
				n.modules[frames[0]+" in ["+m[2]+"]"] += count
			}
		}
	}
	return n
}

// mixedWork is processes with all their children.
type mixedWork struct{ commands []*exec.Cmd }

func (w *mixedWork) stop() {
	for _, cmd := range w.commands {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)) // of a JIT compiler
	}
	w.commands = nil
}

func (w *mixedWork) start(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	w.commands = append(w.commands, cmd)
}

// startMixedWork keeps the host busy until the test ends.
func startMixedWork(t *testing.T, dir string) *mixedWork {
	t.Helper()
	for name, text := range map[string]string{
		"unit.cc": unitSource, "Main.java": javaSource, "service.go": serviceSource, "nginx.conf": fmt.Sprintf(nginxConfig, dir, "127.0.0.1:"+port(t)),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range [][]string{
		{"go", "build", "-ldflags=-s -w", "-o", "goservice", "service.go"},
		{"javac", "Main.java"},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	w := &mixedWork{}
	t.Cleanup(w.stop)
	service := "127.0.0.1:" + port(t)
	w.start(t, dir, "nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	w.start(t, dir, "./goservice", service)
	w.start(t, dir, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", workloads.Source(workloads.NodeBusyScript), "600")
	w.start(t, dir, "python3", workloads.Source(workloads.PythonScript), "600")
	w.start(t, dir, "java", "-XX:+PreserveFramePointer", "Main")
	w.start(t, dir, "sh", "-c", "while :; do g++ -O2 -c -o unit.o unit.cc; done")
	w.start(t, dir, "sh", "-c", "while :; do apt-cache search --names-only lib >apt.txt; apt-get -s install gcc >>apt.txt; done")
	config, err := os.ReadFile(filepath.Join(dir, "nginx.conf"))
	require.NoError(t, err)
	nginx := regexp.MustCompile(`listen ([0-9.:]+);`).FindSubmatch(config)[1]
	for _, address := range []string{string(nginx), service} {
		waitFor(t, address)
		w.start(t, dir, "wrk", "-t1", "-c4", "-d600s", "http://"+address+"/unit.cc")
	}
	return w
}

// port returns a free port of loopback.
func port(t *testing.T) string {
	t.Helper()
	_, p, err := net.SplitHostPort(freeAddress(t))
	require.NoError(t, err)
	return p
}

func waitFor(t *testing.T, address string) {
	t.Helper()
	eventually(t, "an answer of "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

const (
	unitSource = `
#include <map>
#include <regex>
#include <string>
int main(int argc, char **argv) {
	std::regex r(argv[0]);
	std::smatch m;
	std::map<std::string, int> seen;
	std::string text = argv[argc - 1];
	seen[text]++;
	return std::regex_search(text, m, r) + seen.size();
}
`
	javaSource = `
import java.util.*;
public class Main {
	static long work(Map<Integer, String> m) {
		long sum = 0;
		for (int i = 0; i < 5000; i++) { m.put(i % 700, "value " + i); sum += m.get(i % 31).hashCode(); }
		return sum;
	}
	public static void main(String[] args) {
		long sum = 0;
		for (;;) { Map<Integer, String> m = new TreeMap<>(); for (int i = 0; i < 31; i++) m.put(i, "x"); sum += work(m); if (sum == 42) System.out.println(sum); }
	}
}
`
	serviceSource = `package main

import (
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		z := gzip.NewWriter(w)
		defer z.Close()
		json.NewEncoder(z).Encode(map[string]any{"path": r.URL.Path, "header": r.Header, "numbers": make([]int, 200)})
	})
	panic(http.ListenAndServe(os.Args[1], nil))
}
`
	nginxConfig = `
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log stderr crit;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  keepalive_requests 1000000;
  server { listen %[2]s; root %[1]s; }
}
`
)
