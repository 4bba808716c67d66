package preflight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// host is a root folder with files of the given texts and a process in the
// namespaces that the kernel starts with, unless links say otherwise.
func host(t *testing.T, files, links map[string]string) string {
	t.Helper()
	root := t.TempDir()
	put := func(name string) string {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		return path
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(put(name), []byte(text), 0o644))
	}
	for name, target := range map[string]string{"proc/self/ns/pid": firstPIDNamespace, "proc/self/ns/user": firstUserNamespace} {
		if other := links[name]; other != "" {
			target = other
		}
		require.NoError(t, os.Symlink(target, put(name)))
	}
	return root
}

func with(base map[string]string, more ...string) map[string]string {
	all := map[string]string{}
	for k, v := range base {
		all[k] = v
	}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

const (
	noCapabilities  = "Name:\tflametel\nUid:\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n"
	allCapabilities = "Name:\tflametel\nUid:\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n"
)

func plain() map[string]string {
	return map[string]string{
		"proc/self/status":                          noCapabilities,
		"proc/sys/kernel/osrelease":                 "6.12.1\n",
		"proc/sys/kernel/perf_event_paranoid":       "3\n",
		"proc/sys/kernel/kptr_restrict":             "1\n",
		"proc/sys/kernel/unprivileged_bpf_disabled": "2\n",
		"sys/kernel/security/lockdown":              "none [integrity] confidentiality\n",
		"sys/kernel/btf/vmlinux":                    "",
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	const (
		caps   = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog,cap_checkpoint_restore"
		first  = "sampling is not permitted: the kernel refused bpf(BPF_PROG_LOAD): operation not permitted (EPERM)\n"
		none   = "  missing     CAP_BPF, CAP_PERFMON; to name all functions also CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE (held: none)\n"
		system = "  this host   Linux 6.12.1, kernel.perf_event_paranoid=3, kernel.unprivileged_bpf_disabled=2, kernel.kptr_restrict=1, lockdown integrity"
		add    = "--cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH --cap-add SYSLOG --cap-add CHECKPOINT_RESTORE --security-opt seccomp=unconfined IMAGE"
	)
	bare := "  run         sudo /bin/flametel record\n  or once     sudo setcap " + caps + "+ep /bin/flametel"
	for name, test := range map[string]struct {
		files, links, env map[string]string
		want              string
	}{
		"bare host": {plain(), nil, nil, first + none + system + ", no container\n" + bare},
		"only CAP_BPF": {with(plain(), "proc/self/status", "CapEff:\t0000008000000000\n"), nil, nil,
			first + "  missing     CAP_PERFMON; to name all functions also CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH, CAP_SYSLOG, CAP_CHECKPOINT_RESTORE (held: CAP_BPF)\n" + system + ", no container\n" + bare},
		"docker": {with(plain(), ".dockerenv", ""), map[string]string{"proc/self/ns/pid": "pid:[4026532999]"}, nil,
			first + none + system + ", in a container (docker), PID namespace of its own\n  run         sudo /bin/flametel record  # and if that is refused,\n  start it by docker run --pid host " + add + "\n  or          docker run --pid host --privileged IMAGE"},
		"podman": {with(plain(), "run/.containerenv", "", "proc/self/status", strings.Replace(noCapabilities, "1000", "0", 1)), nil, nil,
			first + none + system + ", in a container (podman)\n  start it by sudo podman run --pid host " + add + "\n  or          sudo podman run --pid host --privileged IMAGE"},
		"kubernetes": {plain(), map[string]string{"proc/self/ns/pid": "pid:[4026532999]"}, map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
			first + none + system + ", in a pod of Kubernetes, PID namespace of its own\n" +
				"  kubernetes  spec: {hostPID: true}, and for the container securityContext: {capabilities: {add: [BPF, PERFMON, SYS_PTRACE, DAC_READ_SEARCH, SYSLOG, CHECKPOINT_RESTORE]}}\n" +
				"  or          securityContext: {privileged: true}"},
		"root under lockdown": {with(plain(), "proc/self/status", allCapabilities, "sys/kernel/security/lockdown", "none integrity [confidentiality]"), nil, nil,
			first + "  missing     no capability; the kernel's lockdown mode, confidentiality, forbids to look into programs\n" +
				"  this host   Linux 6.12.1, kernel.perf_event_paranoid=3, kernel.unprivileged_bpf_disabled=2, kernel.kptr_restrict=1, lockdown confidentiality, no container"},
		"root of a user namespace": {with(plain(), "proc/self/status", allCapabilities), map[string]string{"proc/self/ns/user": "user:[4026532001]"}, nil,
			first + "  missing     no capability; those of a user namespace, as in a rootless container, do not count for the host\n" + system + ", no container, user namespace"},
		"root under a security module": {with(plain(), "proc/self/status", allCapabilities), nil, nil,
			first + "  missing     no capability; a security module, such as SELinux or AppArmor, forbids it; the kernel's log may say more (dmesg)\n" + system + ", no container"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Inspect(host(t, test.files, test.links), func(key string) string { return test.env[key] })
			got := h.Advice(Refusal{"bpf(BPF_PROG_LOAD)", fmt.Errorf("x: %w", syscall.EPERM)}, "/bin/flametel", "/bin/flametel record")
			assert.Equal(t, test.want, got)
		})
	}
}

func TestSeccompIsNamed(t *testing.T) {
	t.Parallel()
	files := with(plain(), "proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t2\n")
	h := Inspect(host(t, files, nil), func(string) string { return "" })
	assert.Contains(t, h.Advice(Refusal{"", errors.New("no errno")}, "", ""), "sampling is not permitted: the kernel refused it\n")
	assert.Contains(t, h.Advice(Refusal{}, "", ""), "a seccomp filter of system calls is in force")
}

// What is lost without capabilities that are not needed is one sentence.
func TestShortage(t *testing.T) {
	t.Parallel()
	h := Host{Effective: 1<<38 | 1<<39 | 1<<19 | 1<<2 | 1<<40}
	const want = "many functions will have no names without CAP_SYSLOG; "
	assert.Equal(t, want+"use sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog,cap_checkpoint_restore+ep /bin/flametel",
		h.Shortage(h.Missing(false), "/bin/flametel"))
	h.Container = "docker"
	assert.Equal(t, want+"use sudo, or add to the container SYSLOG", h.Shortage(h.Missing(false), ""))
	h.Root = true
	assert.Equal(t, want+"add to the container SYSLOG", h.Shortage(h.Missing(false), ""))
}

// Nothing can be read: then nothing is claimed.
func TestEmptyHost(t *testing.T) {
	t.Parallel()
	h := Inspect(t.TempDir(), func(string) string { return "" })
	assert.Equal(t, Host{Settings: map[string]string{}}, h)
	assert.Equal(t, "Linux of an unknown release, no container", h.Describe())
}

func TestThisHost(t *testing.T) {
	t.Parallel()
	h := Inspect("/", os.Getenv)
	assert.NotEmpty(t, h.Kernel)
	assert.NotEmpty(t, h.Settings[Paranoid])
	assert.Equal(t, os.Geteuid() == 0, len(h.Missing(true)) == 0)
}
