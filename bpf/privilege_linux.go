package bpf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// PrivilegeError says that the kernel refused a call for lack of privileges,
// and what would help. Test for it with errors.As.
type PrivilegeError struct {
	// Call is what was refused, Err the kernel's answer.
	Call string
	Err  error
	// Missing are the capabilities that the process lacks, such as "CAP_BPF".
	Missing []string
	// Settings are the system settings that bear on it, "name=value".
	Settings []string
}

// Error is one sentence with the remedy.
func (e *PrivilegeError) Error() string {
	cause := e.Err
	var errno unix.Errno
	if errors.As(e.Err, &errno) {
		cause = errno // not the loader's guess that memory limits are at fault
	}
	msg := fmt.Sprintf("%s: %v", e.Call, cause)
	if len(e.Missing) > 0 {
		msg += fmt.Sprintf("; missing %s: run as root, or grant them with setcap, --cap-add or securityContext",
			strings.Join(e.Missing, ", "))
	} else {
		msg += "; all capabilities are there, so the kernel, its lockdown mode or a security module forbids it"
	}
	if len(e.Settings) > 0 {
		msg += " (" + strings.Join(e.Settings, ", ") + ")"
	}
	return msg
}

// Unwrap returns the kernel's answer.
func (e *PrivilegeError) Unwrap() error { return e.Err }

// Refused is what the kernel refused, for callers that know the host better.
func (e *PrivilegeError) Refused() string { return e.Call }

// neededCapabilities are the smallest set that samples a whole host. Before
// 5.8 CAP_SYS_ADMIN stands for the first two.
var neededCapabilities = []struct {
	bit  int
	name string
}{
	{unix.CAP_BPF, "CAP_BPF"},
	{unix.CAP_PERFMON, "CAP_PERFMON"},
}

func newPrivilegeError(call string, err error) *PrivilegeError {
	status, _ := os.ReadFile("/proc/self/status")
	return &PrivilegeError{
		Call:     call,
		Err:      err,
		Missing:  missingCapabilities(effectiveCapabilities(string(status))),
		Settings: privilegeSettings(),
	}
}

// CheckPrivileges tells before anything is loaded whether capabilities are
// missing. It returns nil or a *PrivilegeError.
func CheckPrivileges() error {
	e := newPrivilegeError("bpf(BPF_PROG_LOAD) and perf_event_open", unix.EPERM)
	if len(e.Missing) == 0 {
		return nil
	}
	return e
}

// effectiveCapabilities finds the set CapEff in the text of /proc/PID/status.
func effectiveCapabilities(status string) uint64 {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err == nil {
				return set
			}
		}
	}
	return 0
}

func missingCapabilities(effective uint64) []string {
	if effective&(1<<unix.CAP_SYS_ADMIN) != 0 {
		return nil
	}
	var missing []string
	for _, c := range neededCapabilities {
		if effective&(1<<c.bit) == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing
}

func privilegeSettings() []string {
	var settings []string
	for _, s := range []struct{ name, path string }{
		{"kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid"},
		{"kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled"},
		{"lockdown", "/sys/kernel/security/lockdown"},
	} {
		if text, err := os.ReadFile(s.path); err == nil {
			settings = append(settings, s.name+"="+strings.TrimSpace(string(text)))
		}
	}
	return settings
}
