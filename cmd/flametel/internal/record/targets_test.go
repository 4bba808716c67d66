package record

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContainersWithoutProcesses(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"12/cgroup": "0::/system.slice/docker-0123456789abcdef.scope\n", "13/cgroup": "0::/\n", "self/cgroup": "0::/docker/ffffffffffff\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	assert.Equal(t, []string{"ffffffffffff"}, absent([]string{"0123456789ab", "ffffffffffff"}, root))
	assert.Empty(t, absent(nil, root))
}

func TestCgroupsThatDoNotExist(t *testing.T) {
	t.Parallel()
	one, several := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(one, "cgroup.controllers"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(several, "cpu", "a"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(several, "memory", "b"), 0o755))
	for _, tree := range []string{"cpu", "memory"} {
		require.NoError(t, os.WriteFile(filepath.Join(several, tree, "cgroup.procs"), nil, 0o600))
	}
	assert.Equal(t, []string{one}, cgroupRoots(one))
	assert.Len(t, cgroupRoots(several), 2)
	assert.NoError(t, checkCgroups([]string{"/a", "b"}, cgroupRoots(several)))
	assert.EqualError(t, checkCgroups([]string{"/a/c"}, cgroupRoots(several)), "cgroup /a/c does not exist; systemd-cgls and /sys/fs/cgroup show those that do")
	assert.EqualError(t, checkCgroups([]string{"0123456789ab"}, cgroupRoots(one)),
		"cgroup /0123456789ab does not exist; systemd-cgls and /sys/fs/cgroup show those that do; for a container use --container 0123456789ab")
	assert.NoError(t, checkCgroups([]string{"/a"}, cgroupRoots(t.TempDir())), "no tree is mounted, so nobody knows")
}

func TestCgroupPaths(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"/system.slice/nginx.service": "/system.slice/nginx.service", "system.slice/nginx.service/": "/system.slice/nginx.service",
		"/sys/fs/cgroup/user.slice": "/user.slice", "/sys/fs/cgroups": "/sys/fs/cgroups",
	} {
		assert.Equal(t, want, cgroupPath(given), given)
	}
	assert.Equal(t, "/a/b", inTree("/sys/fs/cgroup/cpu/a/b", []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"}))
}

func TestTwinStandsBesideItsFile(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"a.svg": "a.diff.svg", "d/a.pb.gz": "d/a.diff.svg", "a.speedscope.json": "a.diff.svg", "a.out": "a.diff.svg",
	} {
		assert.Equal(t, want, twinOf(path), path)
	}
}
