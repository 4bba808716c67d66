//go:build !linux

package receiver

// IsPrivilegeError tells whether the receiver did not start for lack of
// privileges. On other systems than Linux none help.
func IsPrivilegeError(error) bool { return false }
