//go:build integration && linux

package bpf

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// probes are all kinds of events.
func probes() map[string]*Probe {
	return map[string]*Probe{
		"off_cpu":            OffCPU(OffCPUOptions{}),
		"syscalls":           Syscalls(SyscallOptions{}),
		"file_opens":         FileOpens(FileOpenOptions{}),
		"file_reads":         FileReads(FileReadOptions{}),
		"page_faults":        PageFaults(PageFaultOptions{}),
		"lock_contention":    LockContention(LockOptions{}),
		"kernel_allocations": KernelAllocations(AllocationOptions{}),
		"tcp_retransmits":    TCPRetransmits(),
	}
}

// Every kind loads, also by the means of older kernels, and with room to the
// verifier's limit. Kernels without bpf_loop refuse some with tables, and get
// them without.
func TestKindsLoad(t *testing.T) {
	tables, err := NewTables(1<<18, 1<<13)
	require.NoError(t, err)
	defer func() { require.NoError(t, tables.Close()) }()
	now, err := probeFeatures()
	require.NoError(t, err)
	for name, p := range probes() {
		for _, how := range []struct {
			name     string
			features features
			tables   *Tables
		}{{"on this kernel", now, tables}, {"without bpf_loop", features{taskRegs: true}, nil}} {
			t.Run(name+" "+how.name, func(t *testing.T) {
				tr, err := NewTracer(p, Options{
					DrainInterval: time.Second, MapEntries: minMapEntries, Tables: how.tables,
					features:        func() (features, error) { return how.features, nil },
					OnTablesRefused: func(err error) { require.NoError(t, err) },
				})
				require.NoError(t, err)
				defer func() { require.NoError(t, tr.Close()) }()
				requireRoom(t, tr.objects.programs.Programs)
			})
		}
	}
}
