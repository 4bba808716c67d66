package preflight

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Refusal is the answer of the kernel to a call.
type Refusal struct {
	Call string
	Err  error
}

// String names the call, the reason and the error's number in the way of
// errno(3).
func (r Refusal) String() string {
	if r.Call == "" && r.Err == nil {
		return "capabilities are missing" // it was not asked
	}
	text := "the kernel refused it"
	if r.Call != "" {
		text = "the kernel refused " + r.Call
	}
	var errno syscall.Errno
	if !errors.As(r.Err, &errno) {
		return text
	}
	text += ": " + errno.Error()
	switch errno {
	case syscall.EPERM:
		text += " (EPERM)"
	case syscall.EACCES:
		text += " (EACCES)"
	}
	return text
}

// Advice is what a user without the privileges to sample needs: what was
// refused, what is missing, how the host is set, and the command that helps.
// Self is the absolute path of this program, run its command line for a shell.
func (h *Host) Advice(refused Refusal, self, run string) string {
	rows := [][2]string{{"missing", h.missing()}, {"this host", h.Describe()}}
	rows = append(rows, h.remedies(self, run)...)
	var b strings.Builder
	b.WriteString("sampling is not permitted: " + refused.String())
	for _, r := range rows {
		fmt.Fprintf(&b, "\n  %-11s %s", r[0], r[1])
	}
	return b.String()
}

// missing says what of the capabilities is missing, or why they do not help.
func (h *Host) missing() string {
	needed := h.Missing(true)
	if len(needed) == 0 {
		return "no capability; " + h.otherReason()
	}
	text := names(needed)
	if others := h.Missing(false); len(others) > 0 {
		text += "; to name all functions also " + names(others)
	}
	return text + " (held: " + names(h.Held()) + ")"
}

// otherReason is why the kernel refuses what capabilities allow.
func (h *Host) otherReason() string {
	switch {
	case h.UserNamespace:
		return "those of a user namespace, as in a rootless container, do not count for the host"
	case h.Lockdown == "confidentiality":
		return "the kernel's lockdown mode, confidentiality, forbids to look into programs"
	case h.Seccomp:
		return "a seccomp filter of system calls is in force and refuses bpf or perf_event_open"
	}
	return "a security module, such as SELinux or AppArmor, forbids it; the kernel's log may say more (dmesg)"
}

// Describe says how the host is set, in one line.
func (h *Host) Describe() string {
	parts := []string{"Linux " + orUnknown(h.Kernel)}
	for _, name := range settingNames() {
		if value, known := h.Settings[name]; known && name != MaxSampleRate {
			parts = append(parts, name+"="+value)
		}
	}
	if h.Lockdown != "" {
		parts = append(parts, "lockdown "+h.Lockdown)
	}
	if h.Seccomp {
		parts = append(parts, "seccomp filter")
	}
	return strings.Join(append(parts, h.place()), ", ")
}

// place says where we run.
func (h *Host) place() string {
	text := "no container"
	switch {
	case h.Kubernetes:
		text = "in a pod of Kubernetes"
	case h.Container == "container":
		text = "in a container"
	case h.Container != "":
		text = "in a container (" + h.Container + ")"
	}
	if h.UserNamespace {
		text += ", user namespace"
	}
	if h.PIDNamespace {
		text += ", PID namespace of its own"
	}
	return text
}

func orUnknown(s string) string {
	if s == "" {
		return "of an unknown release"
	}
	return s
}

// remedies are the commands that help here, each with a word for the margin.
func (h *Host) remedies(self, run string) [][2]string {
	caps := strings.ToLower(strings.Join(fullNames(), ","))
	switch {
	case h.Kubernetes:
		return [][2]string{
			{"kubernetes", "spec: {hostPID: true}, and for the container securityContext: {capabilities: {add: [" +
				strings.Join(short(), ", ") + "]}}"},
			{"or", "securityContext: {privileged: true}"},
		}
	case h.Container != "":
		runtime := "docker"
		if h.Container == "podman" {
			runtime = "sudo podman"
		}
		list := [][2]string{
			{"start it by", runtime + " run --pid host --cap-add " + strings.Join(short(), " --cap-add ") + " --security-opt seccomp=unconfined IMAGE"},
			{"or", runtime + " run --pid host --privileged IMAGE"},
		}
		if !h.Root {
			// The mark of a container also stays in what was made of its files.
			list = append([][2]string{{"run", "sudo " + run + "  # and if that is refused,"}}, list...)
		}
		return list
	case len(h.Missing(true)) == 0:
		return nil
	}
	return [][2]string{
		{"run", "sudo " + run},
		{"or once", "sudo setcap " + caps + "+ep " + self},
	}
}

// Shortage says in one sentence what is lost without capabilities that are not
// needed, and the commands that help. Self is the path of this program for a shell.
func (h *Host) Shortage(missing []Capability, self string) string {
	text := "many functions will have no names without " + names(missing)
	if h.Kubernetes || h.Container != "" {
		var list []string
		for _, c := range missing {
			list = append(list, strings.TrimPrefix(c.Name, "CAP_"))
		}
		remedy := "add to the container " + strings.Join(list, ", ")
		if !h.Root {
			// The mark of a container also stays in what was made of its files.
			remedy = "use sudo, or " + remedy
		}
		return text + "; " + remedy
	}
	return text + "; use sudo, or once: sudo setcap " + strings.ToLower(strings.Join(fullNames(), ",")) + "+ep " + self
}

func fullNames() []string {
	var list []string
	for _, c := range Capabilities() {
		list = append(list, c.Name)
	}
	return slices.Clip(list)
}
