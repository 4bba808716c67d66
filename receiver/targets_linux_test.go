package receiver

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/receiver/internal/window"
)

func TestTargetsMatch(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	nginx := window.Process{Name: "nginx: worker", ExecutablePath: "/usr/sbin/nginx", CgroupPath: "/system.slice/nginx.service"}
	inDocker := window.Process{ExecutablePath: "/app/server", ContainerID: id, CgroupPath: "/docker/" + id}
	kernel := window.Process{Name: "kworker/0:1", Kernel: true, CgroupPath: "/"}
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
