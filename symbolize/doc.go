// Package symbolize turns the addresses of a sampled stack into frames with
// names. It reads files and tables; it knows neither BPF nor the collector and
// has no global state.
//
// Two goroutines use a Symbolizer. The one that reads process events calls Open
// for each mapping when it appears, because a process may be gone, and its file
// replaced, by the time that a sample is named:
//
//	m := procmap.Mapping{Start: ..., Limit: ..., Offset: ..., Path: ..., BuildID: ...}
//	mapped = append(mapped, symbolize.Mapped{Mapping: m, Object: s.Open(pid, m)})
//	process = process.With(mapped)
//
// The one that drains samples calls User and Kernel, with whole stacks, leaf
// first:
//
//	frames = s.User(process, pcs, frames[:0])
//
// How an address finds its name (the three kinds of addresses are types of
// package addr):
//
//   - virtual address -> the mapping that holds it -> offset in the file -> the
//     load segment that holds that offset -> file address -> the symbol that
//     covers it. There is no base address and no nearest symbol.
//   - Memory without a file, and files that are no ELF files, hold code that
//     was generated at run time: it is looked up in the process's perf map.
//   - The vDSO is read from memory; all 64-bit processes have the same.
//   - Kernel addresses are looked up in /proc/kallsyms.
//   - A return address points behind its call, so callers are looked up one
//     byte before it.
//
// An address that nothing names keeps its module and a Reason: never a guess.
//
// Whatever is read belongs to others, who may be hostile and may change it at
// any time. Files are looked at before they are opened, read and never mapped,
// checked to be the ones that were mapped, and waited for only so long. All
// caches together are bounded in bytes (Options.MaxCacheBytes); what was used
// longest ago is given back first.
//
// The package does not unwind stacks, and it does not clean names: any bytes
// may stand in them.
package symbolize
