//go:build integration

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/loopback"
)

// asked is what testdata/asks.c says that it asked for in a round, times in
// nanoseconds.
type asked struct {
	Stats, Missing               int
	NapsAsked                    float64 `json:"naps_asked"`
	Naps                         float64
	LongestNap                   float64 `json:"longest_nap"`
	Bytes                        float64
	LongestRead                  float64 `json:"longest_read"`
	Majors                       float64
	ForkAsked                    float64 `json:"fork_asked"`
	Fork, Delay, Allocated, Took float64
}

// A program does the next thing for each line that it is sent.
type program struct {
	pid  int
	next func() string // returns what it answers
	end  func()
}

// startProgram compiles a C program and starts it.
func startProgram(t *testing.T, source string, args ...string) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	msg, err := exec.Command("gcc", "-O1", "-o", path, source).CombinedOutput()
	require.NoError(t, err, "%s", msg)
	cmd := exec.Command(path, args...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	end := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(end)
	lines := bufio.NewReader(out)
	next := func() string {
		_, err := in.Write([]byte("\n"))
		assert.NoError(t, err)
		line, err := lines.ReadString('\n')
		assert.NoError(t, err)
		return line
	}
	return program{cmd.Process.Pid, next, end}
}

// What the collector of examples/metrics.yaml has, fetched by Prometheus as
// examples/prometheus.yml says: each panel of examples/dashboard.json shows what
// programs are known to have done.
func TestDashboardShowsWhatProgramsDid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, make([]byte, 1<<20), 0o600))
	asks := startProgram(t, filepath.Join("testdata", "asks.c"), file)
	resends := startProgram(t, filepath.Join(root, "bpf", "testdata", "retransmits.c"), "4")
	example, err := filepath.Abs(filepath.Join(root, "examples", "metrics.yaml"))
	require.NoError(t, err)
	address := loopback.Address(t).String()
	start(t, fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, drain_interval: 200ms, targets: {pids: [%d, %d]}}}
exporters: {prometheus: {endpoint: "%s"}}
`, asks.pid, resends.pid, address), example)
	p := startPrometheus(t, address)

	// Rates are of what comes after the first value, and so is what is compared. The
	// time begins and ends with values, so that Prometheus has nothing to guess.
	const counter = `sum(flametel_syscall_duration_seconds_count{process_executable_name="asks", flametel_syscall="newfstatat"})`
	round := func() (a asked) {
		require.NoError(t, json.Unmarshal([]byte(asks.next()), &a))
		return a
	}
	done := round().Stats
	begin := p.settle(counter, done).Add(-time.Millisecond)
	resent := make(chan struct{})
	go func() {
		defer close(resent)
		resends.next()
	}()
	first, second := round(), round()
	<-resent
	end := p.settle(counter, done+first.Stats+second.Stats)

	both := func(of func(*asked) float64) float64 { return of(&first) + of(&second) }
	took := both(func(a *asked) float64 { return a.Took }) / 1e9
	b := board{t: t, p: p, at: end, over: end.Sub(begin)}
	stats := both(func(a *asked) float64 { return float64(a.Stats) })
	b.rate("System calls by process", map[string]string{"process_executable_name": "asks"}, stats, 10*stats)
	b.rate("Time in system calls", map[string]string{"flametel_syscall": "clock_nanosleep"},
		both(func(a *asked) float64 { return a.NapsAsked })/1e9, both(func(a *asked) float64 { return a.Naps })/1e9)
	b.quantile("p99 of system calls", map[string]string{"flametel_syscall": "clock_nanosleep"},
		first.NapsAsked/10/1e9, max(first.LongestNap, second.LongestNap)/1e9)
	missing := both(func(a *asked) float64 { return float64(a.Missing) })
	searches := map[string]string{"process_executable_name": "asks", "flametel_syscall": "newfstatat", "error_type": "ENOENT"}
	b.rate("Errors of system calls", searches, missing, missing)
	asksOnly := map[string]string{"process_executable_name": "asks"}
	b.quantile("p99 of reads of files", asksOnly, 0, max(first.LongestRead, second.LongestRead)/1e9)
	bytes := both(func(a *asked) float64 { return a.Bytes })
	b.rate("Bytes read from files", asksOnly, bytes, bytes)
	// The kernel tells of one of the two that shared a CPU, and of waking up as well.
	b.rate("Waiting for a CPU", asksOnly, both(func(a *asked) float64 { return a.Delay })/2e9, 2*took)
	b.rate("Waits that no signal ends", asksOnly, both(func(a *asked) float64 { return a.ForkAsked })/1e9, took)
	allocated := both(func(a *asked) float64 { return a.Allocated })
	b.rate("Kernel memory allocated", asksOnly, allocated, allocated+16<<20)
	majors := both(func(a *asked) float64 { return a.Majors })
	require.Positive(t, majors)
	b.rate("Major page faults", asksOnly, majors, majors)
	for what, atLeast := range map[string]float64{"data": 2, "syn": 1, "syn_ack": 1, "loss_probe": 1} {
		b.sum("TCP retransmits", map[string]string{
			"process_executable_name": "retransmits", "network_peer_address": "127.0.0.1", "flametel_tcp_retransmit": what,
		}, atLeast, 100)
	}
	for _, kind := range []string{"syscalls", "off_cpu", "file_reads", "page_faults", "kernel_allocations", "tcp_retransmits"} {
		b.sum("Lost observations", map[string]string{"flametel_kind": kind, "flametel_sample_lost_cause": "counts_full"}, 0, math.Inf(1))
	}
	b.allAsked()
	b.variables()

	// What it did stays when it has ended.
	asks.end()
	b.at = p.settle(counter, done+first.Stats+second.Stats)
	b.over = b.at.Sub(begin)
	b.rate("Errors of system calls", searches, missing, missing)
}

// board asks what the panels of the dashboard show.
type board struct {
	t     *testing.T
	p     *prometheus
	at    time.Time     // when they are looked at
	over  time.Duration // the time up to then that they show
	asked []string      // titles
}

// dashboard is what the test needs of examples/dashboard.json.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
			AllValue   string
		}
	}
}

func (b *board) read() (d dashboard) {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "examples", "dashboard.json"))
	require.NoError(b.t, err)
	require.NoError(b.t, json.Unmarshal(text, &d))
	require.NotEmpty(b.t, d.Panels)
	return d
}

// show returns the value of the line of a panel that has these labels.
func (b *board) show(title string, labels map[string]string) float64 {
	b.t.Helper()
	b.asked = append(b.asked, title)
	over := fmt.Sprintf("%dms", b.over.Milliseconds())
	for _, panel := range b.read().Panels {
		if panel.Title != title {
			continue
		}
		expression := strings.NewReplacer("$host", ".*", "$process", ".*", "$__rate_interval", over, "$__interval", over).Replace(panel.Targets[0].Expr)
		require.NotContains(b.t, expression, "$")
		list := b.p.query(expression, b.at)
		for _, line := range list {
			if has(line.labels, labels) {
				return line.value
			}
		}
		b.t.Fatalf("%s: no line %v among %v: %s", title, labels, list, expression)
	}
	b.t.Fatalf("no panel %s", title)
	return math.NaN()
}

func has(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// rate compares what a panel shows for a second with what happened in all.
func (b *board) rate(title string, labels map[string]string, low, high float64) {
	b.t.Helper()
	got := b.show(title, labels) * b.over.Seconds()
	assert.GreaterOrEqual(b.t, got, 0.999*low, title)
	assert.LessOrEqual(b.t, got, 1.001*high, title)
}

// sum compares what a panel shows for all the time.
func (b *board) sum(title string, labels map[string]string, low, high float64) {
	b.t.Helper()
	got := b.show(title, labels)
	assert.GreaterOrEqual(b.t, got, low, title)
	assert.LessOrEqual(b.t, got, high, title)
}

// quantile compares seconds up to the width of buckets, each twice as wide as the
// one before it.
func (b *board) quantile(title string, labels map[string]string, low, high float64) {
	b.t.Helper()
	got := b.show(title, labels)
	assert.Positive(b.t, got, title)
	assert.GreaterOrEqual(b.t, got, low/2, title)
	assert.LessOrEqual(b.t, got, max(2*high, 1.1e-6), title)
}

// allAsked checks that no panel was forgotten.
func (b *board) allAsked() {
	b.t.Helper()
	for _, panel := range b.read().Panels {
		assert.Contains(b.t, b.asked, panel.Title)
		assert.Len(b.t, panel.Targets, 1, panel.Title)
	}
}

// variables checks the lists from which hosts and processes are chosen.
func (b *board) variables() {
	b.t.Helper()
	host, err := os.Hostname()
	require.NoError(b.t, err)
	wanted := map[string]string{"host": host, "process": "asks"}
	for _, v := range b.read().Templating.List {
		if v.Type != "query" {
			continue
		}
		query := v.Query.(map[string]any)["query"].(string)
		arguments, ok := strings.CutPrefix(strings.ReplaceAll(query, "$host", ".*"), "label_values(")
		require.True(b.t, ok, query)
		at := strings.LastIndex(arguments, ", ")
		selector, label := arguments[:at], strings.TrimSuffix(arguments[at+2:], ")")
		values, ok := get[[]string](b.p, "/api/v1/label/"+label+"/values", map[string][]string{"match[]": {selector}})
		require.True(b.t, ok)
		assert.True(b.t, slices.Contains(values, wanted[v.Name]), "%s: %v", v.Name, values)
		delete(wanted, v.Name)
	}
	assert.Empty(b.t, wanted)
}
