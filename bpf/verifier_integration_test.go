//go:build integration && linux

package bpf

import (
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
)

// verifierLimit is BPF_COMPLEXITY_LIMIT_INSNS of the kernel. What comes near
// it on this kernel may be beyond it on another.
const verifierLimit = 1_000_000

// The verifier's work stays well below its limit, for every program and for
// every way of walking. docs/architecture.md has the counts.
func TestVerifierHasRoomLeft(t *testing.T) {
	tables, err := NewTables(1<<22, 1<<17)
	require.NoError(t, err)
	defer func() { require.NoError(t, tables.Close()) }()
	now, err := probeFeatures()
	require.NoError(t, err)
	for name, f := range map[string]features{
		"this kernel": now, "without bpf_loop": {taskRegs: true}, "without bpf_loop and task registers": {},
	} {
		for how, tables := range map[string]*Tables{"by tables": tables, "by frame pointers": nil} {
			t.Run(name+" "+how, func(t *testing.T) {
				opts := Options{
					Frequency: 99, Tables: tables, FilterTargets: true, features: func() (features, error) { return f, nil },
					OnTablesRefused: func(err error) { require.NoError(t, err) },
				}
				o, err := load(&opts, profileObject(&opts))
				require.NoError(t, err)
				defer o.close()
				requireRoom(t, o.programs.Programs)
				requireRoom(t, o.targets.Programs)
			})
		}
	}
	require.NoError(t, tables.FollowExecs())
	requireRoom(t, tables.exec.Programs)
}

func requireRoom(t *testing.T, programs map[string]*ebpf.Program) {
	t.Helper()
	for name, p := range programs {
		info, err := p.Info()
		require.NoError(t, err)
		n, ok := info.VerifiedInstructions()
		require.True(t, ok, "kernels from 5.16 on count")
		t.Logf("%s: %d instructions verified", name, n)
		require.Less(t, n, uint32(verifierLimit*8/10), "program %s", name)
	}
}
