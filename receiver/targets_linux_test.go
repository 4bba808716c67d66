package receiver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/procmap"
)

func TestTargetsMatch(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	nginx := window.Process{Name: "nginx: worker", ExecutablePath: "/usr/sbin/nginx", Cgroups: "0::/system.slice/nginx.service\n"}
	inDocker := window.Process{ExecutablePath: "/app/server", ContainerID: id, Cgroups: "0::/docker/" + id + "\n"}
	kernel := window.Process{Name: "kworker/0:1", Kernel: true, Cgroups: "0::/\n"}
	hybrid := window.Process{ExecutablePath: "/bin/sh", Cgroups: "4:memory:/other\n1:cpu:/batch/night\n0::/\n"}
	executables := func(globs ...string) TargetsConfig { return TargetsConfig{Executables: globs} }
	cgroups := func(list ...string) TargetsConfig { return TargetsConfig{Cgroups: list} }
	tests := []struct {
		name    string
		targets TargetsConfig
		process window.Process
		want    bool
	}{
		{"base name", executables("nginx"), nginx, true},
		{"glob", executables("ng*"), nginx, true},
		{"second of two", executables("x", "nginx"), nginx, true},
		{"part of the name", executables("ngin"), nginx, false},
		{"folder does not count", executables("sbin"), nginx, false},
		{"thread name does not count", executables("nginx: worker"), nginx, false},
		{"no executable", executables("*"), kernel, false},
		{"no executable, name of the empty path", executables("."), kernel, false},
		{"cgroup", cgroups("/system.slice/nginx.service"), nginx, true},
		{"parent cgroup", cgroups("/system.slice"), nginx, true},
		{"parent cgroup with slash", cgroups("/system.slice/"), nginx, true},
		{"beginning of a segment", cgroups("/system.sl"), nginx, false},
		{"root cgroup", cgroups("/"), nginx, true},
		{"cgroup of one controller", cgroups("/batch"), hybrid, true},
		{"cgroup of another controller", cgroups("/other"), hybrid, true},
		{"cgroup of no controller", cgroups("/night"), hybrid, false},
		{"other cgroup", cgroups("/user.slice"), nginx, false},
		{"container", cgroups(id), inDocker, true},
		{"beginning of a container", cgroups(id[:12]), inDocker, true},
		{"middle of a container", cgroups(id[12:]), inDocker, false},
		{"container, but none", cgroups(id), nginx, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			targets := newTargets(&tt.targets)
			assert.True(t, targets.filter())
			assert.True(t, targets.judges())
			assert.Equal(t, tt.want, targets.matches(&tt.process))
		})
	}
}

func TestTargetsThatFilter(t *testing.T) {
	assert.False(t, newTargets(&TargetsConfig{}).filter())
	pids := newTargets(&TargetsConfig{PIDs: []int{1}})
	assert.True(t, pids.filter())
	assert.False(t, pids.judges(), "the kernel alone knows which PIDs are targets")
}

func TestTargetsExist(t *testing.T) {
	cfg := TargetsConfig{PIDs: []int{os.Getpid(), 4194304, 4194303}}
	assert.EqualError(t, cfg.check(procRoot), "process 4194304 does not exist\nprocess 4194303 does not exist")
}

// verdicts is a source that remembers what it was told.
type verdicts struct {
	source.Source
	keep map[bpf.Target]bool
}

func (v *verdicts) SetTarget(t bpf.Target, verdict bpf.Verdict) error {
	v.keep[t] = verdict == bpf.Keep
	return nil
}
func (v *verdicts) IsTarget(t bpf.Target) (keep, known bool) {
	keep, known = v.keep[t]
	return keep, known
}

func (v *verdicts) EachTarget(yield func(bpf.Target) bool) error {
	for t, keep := range v.keep {
		if keep && !yield(t) {
			break
		}
	}
	return nil
}

// Targets have ended when none of them, nor of their children, runs. A process
// that nobody has waited for does not run.
func TestTargetsEnd(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read go")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	src := &verdicts{keep: map[bpf.Target]bool{}}
	named := newTargets(&TargetsConfig{PIDs: []int{cmd.Process.Pid}})
	require.NoError(t, named.begin(src))
	require.False(t, named.ended(src), "it runs")
	require.False(t, newTargets(&TargetsConfig{}).ended(src), "the whole host has no end")
	own, err := process.StartTicks(procRoot, uint32(os.Getpid()))
	require.NoError(t, err)
	child := bpf.Target{PID: uint32(os.Getpid()), StartTicks: own}
	src.keep[child] = true // as if the target had started us
	require.NoError(t, in.Close())
	require.Eventually(t, func() bool {
		delete(src.keep, child)
		defer func() { src.keep[child] = true }()
		return named.ended(src)
	}, time.Minute, time.Millisecond, "it waits for its parent")
	require.False(t, named.ended(src), "its child runs")
	delete(src.keep, child)
	src.keep[bpf.Target{PID: child.PID, StartTicks: own - 1}] = true
	require.True(t, named.ended(src), "another process has the number of its child")
	named.cfg.Cgroups = []string{"/a"}
	require.False(t, named.ended(src), "others may come")
}

// noFiles opens nothing.
type noFiles struct{}

func (noFiles) Open(int, procmap.Mapping) *symbolize.Object { return nil }

// A process that was sampled before an exec, and turned down after it, is
// looked at again.
func TestVerdictThatCameAfterAnExec(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read go; exec sleep 60")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	pid := uint32(cmd.Process.Pid)
	ticks, err := process.StartTicks("/proc", pid)
	require.NoError(t, err)
	sample := &bpf.Sample{PID: pid, StartNanos: ticks * 10_000_000}
	registry := process.New(noFiles{}, process.Options{})
	src := &verdicts{keep: map[bpf.Target]bool{}}
	targets := newTargets(&TargetsConfig{Executables: []string{"sleep"}})

	before := registry.Find(pid, sample.StartNanos, monotonic(), "sh")
	_, err = in.Write([]byte("\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err == nil && filepath.Base(exe) == "sleep"
	}, 10*time.Second, time.Millisecond)
	require.False(t, targets.wanted(src, sample, before), "it was a shell when it was sampled")
	require.NoError(t, targets.reconsider(registry, []source.Source{src})) // ends this drain
	keep, known := src.IsTarget(bpf.TargetOf(sample))
	require.True(t, known)
	require.False(t, keep, "the exec is not known yet")

	registry.Apply([]bpf.Event{{Kind: bpf.EventComm, Exec: true, PID: pid, TID: pid, Nanos: monotonic(), Comm: "sleep"}})
	require.NoError(t, targets.reconsider(registry, []source.Source{src}))
	keep, _ = src.IsTarget(bpf.TargetOf(sample))
	require.True(t, keep)
	require.NoError(t, targets.reconsider(registry, []source.Source{src}))
	require.Empty(t, targets.turnedDown)
}
