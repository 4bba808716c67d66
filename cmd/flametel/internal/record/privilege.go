package record

import (
	"fmt"
	"os"
)

// privilegeText is what the user sees without the privileges to sample: what is
// missing, which err says, and the command that helps.
func privilegeText(err error, args []string) error {
	if os.Geteuid() == 0 {
		return fmt.Errorf("%w; in a container, start it with: --privileged --pid=host, or --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE --pid=host", err)
	}
	// Under its full path, as sudo searches other folders than the user's.
	if self, err := os.Executable(); err == nil {
		args = append([]string{self}, args[1:]...)
	}
	return fmt.Errorf("%w; run: sudo %s", err, shellQuote(args))
}
