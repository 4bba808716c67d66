//go:build integration

package e2e

import (
	"debug/elf"
	"fmt"
	"maps"
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

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/loopback"
	"github.com/flametel/flametel/internal/workloads"
)

const (
	// namedShare is the least part of the frames, weighted by samples, that has
	// names on a host of mixed work, of those that have names anywhere on it: not
	// code that a runtime generated without telling its names, nor functions that
	// no symbol table has, of programs that were stripped.
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
	cmd := exec.Command(flametelPath, "record", "-d", fmt.Sprint(int(recordedFor.Seconds())), "-o", "out.pb.gz")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	load.stop()

	file, err := os.Open(filepath.Join(dir, "out.pb.gz"))
	require.NoError(t, err)
	defer file.Close()
	p, err := profile.Parse(file)
	require.NoError(t, err)
	n := countNames(p)
	share := func(part int64) float64 { return 100 * float64(part) / float64(n.all) }
	t.Logf("of %d frames: %.2f %% have names; %.2f %% are generated code without a map; %.2f %% are functions that no symbol table has, most in %v; %.2f %% could have a name, most in %v",
		n.all, share(n.named), share(n.generated), share(n.stripped), worst(n.strippedIn, 8), share(n.unnamed), worst(n.unnamedIn, 8))
	t.Logf("%s", out)
	assert.GreaterOrEqual(t, float64(n.named)/float64(n.named+n.unnamed), namedShare)
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
	all, named, unnamed, generated, stripped int64
	unnamedIn, strippedIn                    map[string]int64 // by process and file
	processes                                map[string]int64 // samples
}

// worst lists those with most frames.
func worst(frames map[string]int64, limit int) []string {
	list := slices.SortedFunc(maps.Keys(frames), func(a, b string) int { return int(frames[b] - frames[a]) })
	list = list[:min(limit, len(list))]
	for i, m := range list {
		list[i] = fmt.Sprintf("%s %d", m, frames[m])
	}
	return list
}

func countNames(p *profile.Profile) *names {
	n := &names{unnamedIn: map[string]int64{}, strippedIn: map[string]int64{}, processes: map[string]int64{}}
	tables := map[string]*symbolTable{}
	for _, s := range p.Sample {
		process := strings.Join(s.Label["process"], "")
		n.processes[process] += s.Value[0]
		for _, l := range s.Location {
			n.frame(l, process, s.Value[0], tables)
		}
	}
	return n
}

func (n *names) frame(l *profile.Location, process string, value int64, tables map[string]*symbolTable) {
	if l.Mapping == nil && len(l.Line) > 0 && l.Line[0].Function.Name == "[truncated]" {
		return // it says that the stack goes on
	}
	if len(l.Line) > 0 && l.Line[0].Function.Name != "[unknown]" && !strings.Contains(l.Line[0].Function.Name, "]+0x") {
		n.all += int64(len(l.Line)) * value
		n.named += int64(len(l.Line)) * value
		return
	}
	n.all += value
	file := "[unknown]"
	if l.Mapping != nil {
		file = l.Mapping.File
	}
	place := process + " in " + filepath.Base(file)
	switch {
	case file == "[anon]":
		n.generated += value
	case tableOf(tables, file).lacks(l.Address):
		n.stripped += value
		n.strippedIn[place] += value
	default:
		n.unnamed += value
		n.unnamedIn[place] += value
	}
}

// symbolTable has the functions of a file, by what debug/elf says of it and of
// its debug file; nil if the file cannot be read.
type symbolTable []elf.Symbol

func tableOf(tables map[string]*symbolTable, file string) *symbolTable {
	if t, ok := tables[file]; ok {
		return t
	}
	tables[file] = readTable(file)
	return tables[file]
}

func readTable(file string) *symbolTable {
	f, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var t symbolTable
	add := func(f *elf.File) {
		for _, list := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
			symbols, _ := list() // there may be none
			t = append(t, symbols...)
		}
	}
	add(f)
	if note := f.Section(".note.gnu.build-id"); note != nil {
		if b, err := note.Data(); err == nil && len(b) > 17 {
			if d, err := elf.Open(fmt.Sprintf("/usr/lib/debug/.build-id/%x/%x.debug", b[16:17], b[17:])); err == nil {
				defer d.Close()
				add(d)
			}
		}
	}
	return &t
}

// lacks tells that the file was read and no function in it covers the address.
func (t *symbolTable) lacks(at uint64) bool {
	if t == nil {
		return false
	}
	return !slices.ContainsFunc(*t, func(s elf.Symbol) bool {
		kind := elf.ST_TYPE(s.Info)
		return (kind == elf.STT_FUNC || kind == elf.STT_NOTYPE || kind == elf.STT_GNU_IFUNC) && at >= s.Value && at-s.Value < s.Size
	})
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
	cmd.Env = append(os.Environ(), "TMPDIR="+dir) // where a compiler that is killed leaves files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, cmd.Start())
	w.commands = append(w.commands, cmd)
}

// startMixedWork keeps the host busy until the test ends.
func startMixedWork(t *testing.T, dir string) *mixedWork {
	t.Helper()
	for name, text := range map[string]string{
		"unit.cc": unitSource, "Main.java": javaSource, "service.go": serviceSource, "nginx.conf": fmt.Sprintf(nginxConfig, dir, loopback.Address(t).String()),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range [][]string{
		{"go", "build", "-ldflags=-s -w", "-o", "goservice", "service.go"},
		{"javac", "-J-XX:-UsePerfData", "Main.java"},
	} {
		cmd := exec.Command(c[0], c[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	w := &mixedWork{}
	t.Cleanup(w.stop)
	service := loopback.Address(t).String()
	w.start(t, dir, "nginx", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	w.start(t, dir, "./goservice", service)
	w.start(t, dir, "node", "--perf-basic-prof", "--interpreted-frames-native-stack", workloads.Source(workloads.NodeBusyScript), "600")
	w.start(t, dir, "python3", workloads.Source(workloads.PythonScript), "600")
	w.start(t, dir, "java", "-XX:-UsePerfData", "-XX:+PreserveFramePointer", "Main")
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
