package preflight

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Host is what decides whether this process can sample.
type Host struct {
	Kernel    string // release, "" if unknown
	Root      bool   // we are user 0
	Effective uint64 // capabilities, as bits
	// Settings are sysctls by name; those that cannot be read are not there.
	Settings map[string]string
	// Lockdown is none, integrity or confidentiality; "" if the kernel has no
	// lockdown.
	Lockdown string
	BTF      bool // the kernel describes its own types
	Tracefs  bool
	// Seccomp: a filter of system calls is in force.
	Seccomp bool
	// UserNamespace: our capabilities do not count for the host.
	UserNamespace bool
	// PIDNamespace: we do not see the host's processes under their numbers.
	PIDNamespace bool
	// Container is docker, podman ... if we are in one, "" if not.
	Container  string
	Kubernetes bool
}

// The names of the settings that bear on sampling.
const (
	Paranoid        = "kernel.perf_event_paranoid"
	UnprivilegedBPF = "kernel.unprivileged_bpf_disabled"
	KptrRestrict    = "kernel.kptr_restrict"
	MaxSampleRate   = "kernel.perf_event_max_sample_rate"
)

func settingNames() []string {
	return []string{Paranoid, UnprivilegedBPF, KptrRestrict, MaxSampleRate}
}

// The namespaces that a kernel starts with have fixed numbers (PROC_PID_INIT_INO
// and PROC_USER_INIT_INO, include/linux/proc_ns.h).
const (
	firstPIDNamespace  = "pid:[4026531836]"
	firstUserNamespace = "user:[4026531837]"
)

// Inspect reads the facts below a root folder, "/" but for tests; getenv is
// os.Getenv.
func Inspect(root string, getenv func(string) string) Host {
	r := reader{root}
	status := r.text("proc/self/status")
	h := Host{
		Kernel:        r.text("proc/sys/kernel/osrelease"),
		Root:          strings.HasPrefix(field(status, "Uid:"), "0"),
		Effective:     effective(status),
		Settings:      map[string]string{},
		Lockdown:      lockdown(r.text("sys/kernel/security/lockdown")),
		BTF:           r.exists("sys/kernel/btf/vmlinux"),
		Tracefs:       r.exists("sys/kernel/tracing/events") || r.exists("sys/kernel/debug/tracing/events"),
		Seccomp:       field(status, "Seccomp:") == "2",
		UserNamespace: r.other("proc/self/ns/user", firstUserNamespace),
		PIDNamespace:  r.other("proc/self/ns/pid", firstPIDNamespace),
		Kubernetes:    getenv("KUBERNETES_SERVICE_HOST") != "" || r.exists("var/run/secrets/kubernetes.io"),
	}
	for _, name := range settingNames() {
		if value := r.text("proc/sys/" + strings.ReplaceAll(name, ".", "/")); value != "" {
			h.Settings[name] = value
		}
	}
	h.Container = r.container(getenv, h.PIDNamespace)
	return h
}

// lockdown finds the mode in brackets: none [integrity] confidentiality.
func lockdown(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	mode, _, _ := strings.Cut(rest, "]")
	return mode
}

// reader reads what the kernel and the system say, below a root.
type reader struct{ root string }

// maxText is more than any of the files that we read holds.
const maxText = 64 << 10

func (r reader) text(name string) string {
	f, err := os.Open(filepath.Join(r.root, name))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}

func (r reader) exists(name string) bool {
	_, err := fs.Stat(os.DirFS(r.root), name)
	return err == nil
}

// other reports whether a namespace is not the first; one that cannot be read is
// not told.
func (r reader) other(name, first string) bool {
	target, err := os.Readlink(filepath.Join(r.root, name))
	return err == nil && target != first
}

// container tells the kind of container by the marks that container runtimes
// leave.
func (r reader) container(getenv func(string) string, namespaced bool) string {
	cgroup := r.text("proc/self/cgroup")
	switch {
	case r.exists("run/.containerenv"):
		return "podman"
	case r.exists(".dockerenv"):
		return "docker"
	case getenv("container") != "":
		return getenv("container") // set by systemd-nspawn, lxc and podman
	}
	for _, mark := range []struct{ in, kind string }{
		{"kubepods", "kubernetes"}, {"docker", "docker"}, {"libpod", "podman"}, {"containerd", "containerd"}, {"lxc", "lxc"},
	} {
		if strings.Contains(cgroup, mark.in) && namespaced {
			return mark.kind
		}
	}
	if namespaced {
		return "container"
	}
	return ""
}
