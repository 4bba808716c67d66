package receiver

import (
	"errors"
	"syscall"

	"github.com/flametel/flametel/bpf"
)

// IsPrivilegeError tells whether the receiver did not start because the kernel
// refused something for lack of privileges; the error names the remedy. What the
// kernel's verifier refuses has the same number, and no privilege helps.
func IsPrivilegeError(err error) bool {
	return (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)) && !bpf.IsRefusal(err)
}
