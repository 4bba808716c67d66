package receiver

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/assert"
)

func TestIsPrivilegeError(t *testing.T) {
	t.Parallel()
	assert.True(t, IsPrivilegeError(fmt.Errorf("load: %w", syscall.EPERM)))
	assert.True(t, IsPrivilegeError(&ebpf.VerifierError{Cause: syscall.EACCES}), "the verifier says nothing")
	assert.False(t, IsPrivilegeError(&ebpf.VerifierError{Cause: syscall.EACCES, Log: []string{"invalid bpf_context access"}}))
	assert.False(t, IsPrivilegeError(syscall.ENOMEM))
}
