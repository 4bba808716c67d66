//go:build integration && linux

package receiver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"

	"github.com/flametel/flametel/internal/profcheck"
	"github.com/flametel/flametel/internal/workloads"
)

// wire is the next component: it encodes what it gets, checks the bytes, and
// keeps them decoded by the official package.
type wire struct {
	mu       sync.Mutex
	messages []*profiles.ProfilesData
	problems []string
	biggest  int
}

func (w *wire) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (w *wire) ConsumeProfiles(_ context.Context, pd pprofile.Profiles) error {
	encoded, err := new(pprofile.ProtoMarshaler).MarshalProfiles(pd)
	if err != nil {
		return err
	}
	msg, err := profcheck.Decode(encoded)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, msg)
	w.problems = append(w.problems, profcheck.Check(encoded)...)
	w.biggest = max(w.biggest, len(encoded))
	return err
}

// patience is how long a busy machine may take for what takes seconds.
const patience = 5 * time.Minute

// record runs the receiver as the collector would until check is satisfied,
// which gets everything sent so far.
func record(t *testing.T, change func(*Config), check func(w *wire) bool) *wire {
	t.Helper()
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Window, cfg.DrainInterval = time.Second, 200*time.Millisecond
	cfg.Symbols.Patience = time.Minute // names are asked for, not how fast a machine is
	change(cfg)
	require.NoError(t, cfg.Validate())
	w := &wire{}
	r, err := f.CreateProfiles(context.Background(), nop, cfg, w)
	require.NoError(t, err)
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	satisfied := assert.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return check(w)
	}, patience, 100*time.Millisecond)
	require.NoError(t, r.Shutdown(context.Background()))
	if !satisfied {
		t.FailNow()
	}
	assert.Empty(t, w.problems)
	assert.Less(t, w.biggest, 3<<20)
	return w
}

// seen is one sample with its references resolved.
type seen struct {
	resource map[string]string
	attrs    map[string]string
	frames   []string // leaf first
	value    int64
	profile  *profiles.Profile
}

// samples returns all samples that were sent, and all accounting profiles as
// samples without frames.
func (w *wire) samples() (samples, accounting []seen) {
	for _, m := range w.messages {
		d := m.Dictionary
		attributes := func(indices []int32) map[string]string {
			out := make(map[string]string)
			for _, i := range indices {
				a := d.AttributeTable[i]
				out[d.StringTable[a.KeyStrindex]] = anyText(a.Value.GetStringValue(), a.Value.GetIntValue())
			}
			return out
		}
		for _, rp := range m.ResourceProfiles {
			resource := make(map[string]string)
			for _, kv := range rp.Resource.Attributes {
				resource[d.StringTable[kv.KeyStrindex]] = anyText(d.StringTable[kv.Value.GetStringValueStrindex()], kv.Value.GetIntValue())
			}
			for _, p := range rp.ScopeProfiles[0].Profiles {
				if _, ok := resource["flametel.accounting"]; ok {
					accounting = append(accounting, seen{resource: resource, attrs: attributes(p.AttributeIndices), profile: p})
				}
				for _, s := range p.Samples {
					one := seen{resource: resource, attrs: attributes(s.AttributeIndices), value: s.Values[0], profile: p}
					for _, l := range d.StackTable[s.StackIndex].LocationIndices {
						for _, line := range d.LocationTable[l].Lines {
							one.frames = append(one.frames, d.StringTable[d.FunctionTable[line.FunctionIndex].NameStrindex])
						}
					}
					samples = append(samples, one)
				}
			}
		}
	}
	return samples, accounting
}

func anyText(s string, i int64) string {
	if s != "" {
		return s
	}
	return fmt.Sprint(i)
}

// of returns the number of CPU samples of a process and those samples.
func (w *wire) of(pid int) (total int64, list []seen) {
	all, _ := w.samples()
	for _, s := range all {
		if s.resource["process.pid"] == fmt.Sprint(pid) {
			total += s.value
			list = append(list, s)
		}
	}
	return total, list
}

func enough(pid int, n int64) func(*wire) bool {
	return func(w *wire) bool { total, _ := w.of(pid); return total >= n }
}

// The whole host, over several windows: all messages conform, windows follow
// each other, and the account of each adds up with what was sent in it.
func TestWholeHost(t *testing.T) {
	pid := workloads.Start(t, workloads.Burn.Build(t, "burn_host"), "600")
	w := record(t, func(c *Config) {
		c.Window = 3 * time.Second // a sender that is two windows behind loses one
	}, func(w *wire) bool {
		total, _ := w.of(pid)
		_, accounting := w.samples()
		return total >= 50 && len(accounting) >= 3
	})
	samples, accounting := w.samples()
	sent := make(map[uint64]int64) // by start of window
	for _, s := range samples {
		sent[s.profile.TimeUnixNano] += s.value
	}
	require.GreaterOrEqual(t, len(accounting), 3)
	for i, a := range accounting {
		count := func(key string) (n int64) { fmt.Sscan(a.attrs["flametel."+key], &n); return n }
		assert.Equal(t, count("samples.taken"), count("samples.kept")+count("samples.idle")+count("samples.filtered")+count("samples.lost"), a.attrs)
		assert.Equal(t, count("samples.kept"), sent[a.profile.TimeUnixNano])
		assert.Positive(t, count("cpus"))
		if i > 0 {
			before := accounting[i-1].profile
			assert.Equal(t, before.TimeUnixNano+before.DurationNano, a.profile.TimeUnixNano, "windows follow each other")
		}
	}
}

// Three processes, two of them in containers, one with a name for its service.
func TestResourceIdentity(t *testing.T) {
	burn := workloads.Burn.Build(t, "burn_ident")
	id := randomHex(32)
	group := filepath.Join(cgroupMount(t), "docker-"+id+".scope")
	plain := workloads.Start(t, burn, "600")
	contained := startIn(t, group, nil, burn)
	service := startIn(t, group, []string{"OTEL_SERVICE_NAME=shop"}, burn)
	w := record(t, func(c *Config) {
		c.Targets.PIDs = []int{plain, contained, service}
		c.ResourceAttributes.CommandLine = true
	}, func(w *wire) bool {
		return enough(plain, 5)(w) && enough(contained, 5)(w) && enough(service, 5)(w)
	})
	for pid, want := range map[int]struct{ container, service string }{
		plain:     {"", "burn_ident"},
		contained: {id, "burn_ident"},
		service:   {id, "shop"},
	} {
		_, list := w.of(pid)
		for _, s := range list {
			assert.Equal(t, want.container, s.resource["container.id"])
			assert.Equal(t, want.service, s.resource["service.name"])
			assert.Equal(t, "burn_ident", s.resource["process.executable.name"])
			assert.Equal(t, burn, s.resource["process.executable.path"])
			assert.Equal(t, burn+" 600", s.resource["process.command_line"])
			assert.Equal(t, "linux", s.resource["os.type"])
			assert.NotEmpty(t, s.resource["host.name"])
		}
	}
	all, _ := w.samples()
	for _, s := range all {
		assert.Contains(t, []string{fmt.Sprint(plain), fmt.Sprint(contained), fmt.Sprint(service)}, s.resource["process.pid"], "only targets are profiled")
	}
}

// Threads with names of their own stay in one process, and names of any bytes
// do no harm.
func TestThreadNames(t *testing.T) {
	source := filepath.Join(t.TempDir(), "threads.c")
	require.NoError(t, os.WriteFile(source, []byte(threadsSource), 0o600))
	program := filepath.Join(filepath.Dir(source), "many_threads_and_a_long_name")
	out, err := exec.Command("gcc", "-O1", "-pthread", "-fno-omit-frame-pointer", "-o", program, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	pid := workloads.Start(t, program)
	names := make(map[string]bool)
	w := record(t, func(c *Config) {
		c.Targets.PIDs = []int{pid}
		c.CPU.Frequency = 999
	}, func(w *wire) bool {
		_, list := w.of(pid)
		for _, s := range list {
			// Before it has a name of its own, a thread has that of the program.
			if name := s.attrs["thread.name"]; strings.HasPrefix(name, "worker") {
				names[name] = true
			}
		}
		return len(names) >= 8
	})
	_, list := w.of(pid)
	for _, s := range list {
		assert.Equal(t, "many_threads_and_a_long_name", s.resource["process.executable.name"])
		assert.Empty(t, s.attrs["thread.id"])
	}
	for i := range 8 {
		assert.Contains(t, names, fmt.Sprintf("worker-%d\ufffd", i))
	}
}

// threadsSource runs eight threads whose names are not UTF-8.
const threadsSource = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static void *spin(void *arg)
{
	char name[16];
	snprintf(name, sizeof(name), "worker-%d\xff", (int)(long)arg);
	pthread_setname_np(pthread_self(), name);
	for (volatile unsigned long i = 0;; i++)
		;
	return 0;
}

int main(void)
{
	pthread_t t;
	for (long i = 0; i < 8; i++)
		pthread_create(&t, 0, spin, (void *)i);
	pthread_join(t, 0);
}
`

// The receiver can start again and again in one process, and its Start and
// Shutdown leave no file open.
func TestRestartLeavesNothingOpen(t *testing.T) {
	burn := workloads.Start(t, workloads.Burn.Build(t, "burn_restart"), "600")
	only := func(c *Config) { c.Targets.PIDs = []int{burn} }
	record(t, only, enough(burn, 1)) // the runtime opens what it needs for good
	before := openFiles(t)
	for range 3 {
		record(t, only, enough(burn, 1))
	}
	assert.Equal(t, before, openFiles(t))
}

// A child that runs already when recording begins is profiled with its parent.
func TestChildOfATargetThatRunsAlready(t *testing.T) {
	burn := workloads.Burn.Build(t, "burn_child")
	shell := exec.Command("/bin/sh", "-c", burn+" 600 & echo $!; wait")
	out, err := shell.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, shell.Start())
	line := make([]byte, 16)
	n, err := out.Read(line)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(child, syscall.SIGKILL)
		_ = shell.Process.Kill()
		_ = shell.Wait()
	})
	record(t, func(c *Config) { c.Targets.PIDs = []int{shell.Process.Pid} }, enough(child, 1))
}

func TestUnknownTarget(t *testing.T) {
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Targets.PIDs = []int{4194304}
	before := openFiles(t)
	r, err := f.CreateProfiles(context.Background(), nop, cfg, &wire{})
	require.NoError(t, err)
	assert.ErrorContains(t, r.Start(context.Background(), componenttest.NewNopHost()), "process 4194304 does not exist")
	require.NoError(t, r.Shutdown(context.Background()))
	assert.Equal(t, before, openFiles(t))
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// cgroupMount finds where the unified hierarchy is mounted.
func cgroupMount(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	t.Fatal("no cgroup2 file system is mounted")
	return ""
}

// startIn runs a program inside a cgroup, which is made if need be, until the
// test ends.
func startIn(t *testing.T, group string, env []string, program string) int {
	t.Helper()
	if os.Mkdir(group, 0o755) == nil {
		t.Cleanup(func() { assert.NoError(t, os.Remove(group)) })
	}
	dir, err := os.Open(group)
	require.NoError(t, err)
	defer dir.Close()
	cmd := exec.Command(program, "600")
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}
