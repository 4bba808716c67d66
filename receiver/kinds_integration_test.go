//go:build integration && linux

package receiver

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// worker compiles a program of package bpf's tests that does known things for
// each line that it reads, and starts it.
func worker(t *testing.T, name string, args ...string) (pid int, work func()) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	out, err := exec.Command("gcc", "-O1", "-g", "-o", program, filepath.Join("..", "bpf", "testdata", name+".c")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, args...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	return cmd.Process.Pid, func() {
		_, err := stdin.Write([]byte("\n"))
		assert.NoError(t, err)
		_, err = lines.ReadString('\n')
		assert.NoError(t, err)
	}
}

// typed is a sample with the type of its values.
type typed struct {
	seen
	kind, unit string
}

// typedOf returns the samples of a process by their sample type.
func (w *wire) typedOf(pid int) map[string][]typed {
	types := make(map[*profiles.Profile]*profiles.ProfilesDictionary)
	for _, m := range w.messages {
		for _, rp := range m.ResourceProfiles {
			for _, p := range rp.ScopeProfiles[0].Profiles {
				types[p] = m.Dictionary
			}
		}
	}
	all, _ := w.samples()
	out := make(map[string][]typed)
	for _, s := range all {
		if s.resource["process.pid"] != fmt.Sprint(pid) {
			continue
		}
		d, st := types[s.profile], s.profile.SampleType
		one := typed{s, d.StringTable[st.TypeStrindex], d.StringTable[st.UnitStrindex]}
		out[one.kind+"/"+one.unit] = append(out[one.kind+"/"+one.unit], one)
	}
	return out
}

// sum adds up the values of the samples for which match holds.
func sum(list []typed, match func(typed) bool) (n int64) {
	for _, s := range list {
		if match(s) {
			n += s.value
		}
	}
	return n
}

func leafIs(name string) func(typed) bool {
	return func(s typed) bool { return s.frames[0] == name }
}

func hasFrame(name string) func(typed) bool {
	return func(s typed) bool { return slices.Contains(s.frames, name) }
}

// requireBooks checks the account of each kind in each window.
func requireBooks(t *testing.T, w *wire) {
	t.Helper()
	_, accounting := w.samples()
	require.NotEmpty(t, accounting)
	for _, a := range accounting {
		count := func(key string) (n int64) { fmt.Sscan(a.attrs["flametel."+key], &n); return n }
		assert.Equal(t, count("samples.taken"), count("samples.kept")+count("samples.idle")+count("samples.filtered")+count("samples.lost"), a.attrs)
	}
}

// All kinds at once, of a program that does a known number of things.
func TestKindsOfEvents(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	opener, open := worker(t, "opens", dir)
	caller, call := worker(t, "calls")
	data := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(data, make([]byte, 1<<20), 0o600))
	reader, read := worker(t, "reads", data)
	toucher, touch := worker(t, "faults")
	locker, lock := worker(t, "locks")
	allocator, allocate := worker(t, "allocs")
	sender, send := worker(t, "retransmits", "6")
	var begin sync.Once
	var finished atomic.Bool
	w := record(t, func(c *Config) {
		c.Targets.PIDs = []int{opener, caller, reader, toucher, locker, allocator, sender}
		c.OffCPU.GetOrInsertDefault()
		c.Syscalls.GetOrInsertDefault()
		c.FileOpens.GetOrInsertDefault()
		c.FileReads.GetOrInsertDefault()
		c.PageFaults.GetOrInsertDefault()
		c.LockContention.GetOrInsertDefault()
		c.KernelAllocations.GetOrInsertDefault()
		c.TCPRetransmits.GetOrInsertDefault()
	}, func(w *wire) bool {
		begin.Do(func() {
			go func() {
				// In the first round the tables for stacks are not there yet.
				for range 2 {
					for _, work := range []func(){open, call, read, touch, lock, allocate} {
						work()
					}
					time.Sleep(time.Second)
				}
				send()
				finished.Store(true)
			}()
		})
		return finished.Load() && len(w.typedOf(sender)["retransmits/count"]) > 0
	})
	requireBooks(t, w)
	opens := w.typedOf(opener)
	assert.EqualValues(t, 2*10010, sum(opens["opens/count"], func(typed) bool { return true }))
	assert.EqualValues(t, 2*1429, sum(opens["opens/count"], leafIs("/etc/passwd")))
	assert.EqualValues(t, 2*1428, sum(opens["opens/count"], leafIs(dir+"/missing")))
	assert.EqualValues(t, 2*(3*1428+2), sum(opens["opens/count"], hasFrame("error:ENOENT")))
	assert.EqualValues(t, 2*(3*1428+2), sum(opens["opens/count"], func(s typed) bool { return s.attrs["error.type"] == "ENOENT" }))
	assert.Positive(t, sum(opens["open_time/nanoseconds"], leafIs("/etc/passwd")))
	assert.GreaterOrEqual(t, sum(opens["opens/count"], func(s typed) bool {
		return slices.Contains(s.frames, "many") && slices.Contains(s.frames, "main") && slices.Contains(s.frames, "syscall:openat")
	}), int64(10000), "named stacks")

	calls := w.typedOf(caller)
	assert.EqualValues(t, 2*10000, sum(calls["syscalls/count"], leafIs("syscall:newfstatat")))
	assert.EqualValues(t, 2*1000, sum(calls["syscalls/count"], func(s typed) bool {
		return s.frames[0] == "syscall:newfstatat" && s.attrs["error.type"] == "ENOENT"
	}))
	assert.EqualValues(t, 2*7, sum(calls["syscalls/count"], leafIs("syscall:syscall_9999")))
	assert.GreaterOrEqual(t, sum(calls["syscalls/count"], hasFrame("look")), int64(10000))
	assert.GreaterOrEqual(t, sum(calls["syscall_time/nanoseconds"], leafIs("syscall:clock_nanosleep")), int64(2*150*time.Millisecond))
	asleep := func(s typed) bool { return s.attrs["flametel.syscall"] == "clock_nanosleep" }
	// Some systems hide a switch now and then, and the first stacks are cut.
	assert.GreaterOrEqual(t, sum(calls["off_cpu/nanoseconds"], asleep), int64(150*time.Millisecond))
	assert.Positive(t, sum(calls["off_cpu/nanoseconds"], func(s typed) bool { return asleep(s) && slices.Contains(s.frames, "rest") }))
	for _, s := range calls["off_cpu/nanoseconds"] {
		assert.Contains(t, []string{"blocked", "uninterruptible", "preempted"}, s.attrs["flametel.off_cpu.reason"])
		for _, f := range s.frames {
			assert.False(t, strings.HasPrefix(f, "bpf_") || strings.HasPrefix(f, "__traceiter"), "%v", s.frames)
		}
	}

	reads := w.typedOf(reader)
	assert.EqualValues(t, 2*5662, sum(reads["reads/count"], leafIs(data)))
	assert.EqualValues(t, 2*(5000+300*4096+350*4000+10*4096), sum(reads["read_bytes/bytes"], leafIs(data)))
	assert.EqualValues(t, 2*5000, sum(reads["reads/count"], func(s typed) bool { return s.attrs["flametel.syscall"] == "read" }))
	assert.Positive(t, sum(reads["read_time/nanoseconds"], leafIs(data)))

	faults := w.typedOf(toucher)["faults/count"]
	assert.GreaterOrEqual(t, sum(faults, leafIs("page_fault:minor")), int64(2*3100))
	assert.Positive(t, sum(faults, hasFrame("touch")))

	locks := w.typedOf(locker)
	assert.InDelta(t, 2*300, sum(locks["waits/count"], leafIs("lock:futex wait")), 30)
	assert.GreaterOrEqual(t, sum(locks["wait_time/nanoseconds"], leafIs("lock:futex wait")), int64(2*280*2*time.Millisecond))

	allocations := w.typedOf(allocator)
	assert.EqualValues(t, 2*1000, sum(allocations["allocations/count"], leafIs("kmalloc:16 KiB")))
	assert.EqualValues(t, 2*1000*16384, sum(allocations["allocated/bytes"], leafIs("kmalloc:16 KiB")))
	assert.EqualValues(t, 2*1000*10240, sum(allocations["requested/bytes"], leafIs("kmalloc:16 KiB")))
	assert.Positive(t, sum(allocations["allocations/count"], hasFrame("grow")))

	retransmits := w.typedOf(sender)["retransmits/count"]
	assert.GreaterOrEqual(t, sum(retransmits, hasFrame("retransmit:data")), int64(2))
	assert.GreaterOrEqual(t, sum(retransmits, hasFrame("retransmit:syn")), int64(1))
	// A second probe follows when the answer to the first is late.
	assert.GreaterOrEqual(t, sum(retransmits, hasFrame("retransmit:loss_probe")), int64(1))
	for _, s := range retransmits {
		assert.Equal(t, "ipv6", s.attrs["network.type"])
		assert.Equal(t, "::1", s.attrs["network.peer.address"])
	}
}
