package receiver

import (
	"errors"
	"syscall"
)

// IsPrivilegeError tells whether the receiver did not start because the kernel
// refused something for lack of privileges; the error names the remedy.
func IsPrivilegeError(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)
}
