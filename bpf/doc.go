// Package bpf samples the stacks of a Linux host with eBPF and hands out raw
// samples: process IDs, addresses, counts and nanoseconds. It knows no symbol
// and no collector.
//
// A Sampler runs a program on every tick of the CPU clock of every online CPU.
// The program walks the stacks, stores them in chunks that stacks share, and
// counts equal samples in the kernel; Drain empties the counts. An EventReader
// delivers what the kernel tells of processes: mappings, names, forks, exits.
//
// Both need the capabilities CAP_BPF and CAP_PERFMON (or CAP_SYS_ADMIN) and a
// kernel from 5.10 on with BTF.
package bpf
