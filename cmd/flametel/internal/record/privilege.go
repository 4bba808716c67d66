package record

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/preflight"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
	"github.com/flametel/flametel/receiver"
)

// privilegeText is what the user sees without the privileges to sample: what was
// refused, what is missing, how the host is set and the command that helps. Without
// an error nothing was asked of the kernel yet.
func (s *Settings) privilegeText(err error) error {
	host := s.host()
	refusal := preflight.Refusal{Err: err}
	var known interface{ Refused() string }
	if errors.As(err, &known) {
		refusal.Call = known.Refused()
	}
	// Under its full path, as sudo searches other folders than the user's.
	self := s.self()
	args := append([]string{self}, s.Args[1:]...)
	quote := func(argv []string) string { return terminal.Escape(shellQuote(argv)) }
	return &Refused{strings.Split(host.Advice(refusal, quote([]string{self}), quote(args)), "\n")}
}

// explain adds to an error at the start what the host lacks, if that is why.
func (s *Settings) explain(err error) error {
	if err == nil || receiver.IsPrivilegeError(err) {
		return err
	}
	if host := s.host(); !host.BTF {
		return fmt.Errorf("this kernel does not describe its types: /sys/kernel/btf/vmlinux is missing; use a kernel that was built with CONFIG_DEBUG_INFO_BTF=y (%w)", err)
	}
	return err
}

// WarnOfNamespace says so if process IDs are not the host's: other processes then
// have samples, but neither files nor names.
func (s *Settings) WarnOfNamespace(to *terminal.Messages) {
	if host := s.host(); host.PIDNamespace {
		to.Printf("flametel: warning: this is a PID namespace of its own, in which the host's processes have no names; start the container with --pid=host, the pod with hostPID: true")
	}
}

// lacksPrivileges: without what is missing nothing can be sampled.
func (s *Settings) lacksPrivileges() bool {
	host := s.host()
	return len(host.Missing(true)) > 0
}

// warnOfMissing says what samples will not show for want of capabilities.
func (r *recording) warnOfMissing() {
	host := r.host()
	missing := host.Missing(false)
	if len(missing) == 0 || len(host.Missing(true)) > 0 {
		return
	}
	r.Messages.Printf("flametel: warning: %s", terminal.Escape(host.Shortage(missing, shellQuote([]string{r.self()}))))
}

// self is the full path of this program.
func (s *Settings) self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return s.Args[0]
}

// Refused is an error for lack of privileges, with what helps.
type Refused struct{ lines []string }

// Error is the whole advice.
func (r *Refused) Error() string { return strings.Join(r.lines, "\n") }

// Lines are its lines, none of which holds a line break of others' making.
func (r *Refused) Lines() []string { return r.lines }
