//go:build linux

package bpf

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestCapabilities(t *testing.T) {
	all := effectiveCapabilities("Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n")
	require.Empty(t, missingCapabilities(all))
	require.Equal(t, []string{"CAP_BPF", "CAP_PERFMON"}, missingCapabilities(effectiveCapabilities("CapEff:\t0\n")))
	require.Equal(t, []string{"CAP_PERFMON"}, missingCapabilities(1<<unix.CAP_BPF))
	require.Empty(t, missingCapabilities(1<<unix.CAP_SYS_ADMIN), "the capability of old kernels is enough")
	require.Equal(t, []string{"CAP_BPF", "CAP_PERFMON"}, missingCapabilities(effectiveCapabilities("garbage")))
}

func TestPrivilegeErrorNamesTheRemedy(t *testing.T) {
	err := &PrivilegeError{Call: "open the CPU clock of CPU 0", Err: unix.EACCES, Missing: []string{"CAP_PERFMON"}, Settings: []string{"kernel.perf_event_paranoid=2"}}
	require.ErrorIs(t, err, unix.EACCES)
	require.Equal(t, "open the CPU clock of CPU 0: permission denied; missing CAP_PERFMON: run as root, or grant them "+
		"with setcap, --cap-add or securityContext (kernel.perf_event_paranoid=2)", err.Error())
	err.Missing = nil
	require.ErrorContains(t, err, "lockdown")
}
