// Package procmap holds the memory mappings of processes and reads them from
// /proc/PID/maps.
package procmap

import "github.com/flametel/flametel/symbolize/addr"

// Mapping is a range of virtual memory that may hold code.
type Mapping struct {
	// Start and Limit are the range [Start, Limit).
	Start, Limit addr.Virtual
	// Offset is where Start lies in the file.
	Offset addr.Offset
	// Dev and Inode are the file's identity as the kernel printed it; 0 for
	// memory without a file, and for mappings learnt from an event that
	// carried a build ID instead. On overlay and btrfs they differ from stat.
	Dev   uint64
	Inode uint64
	// BuildID is the GNU build ID that the kernel read from the mapped file
	// (perf MMAP2 events), nil if not known.
	BuildID []byte
	// Path is the file name in the process's mount namespace, without the
	// suffix " (deleted)"; "[vdso]", "[vsyscall]", "[heap]", ...; "" or "//anon"
	// for anonymous memory. Bytes are as the kernel gave them, escapes undone.
	Path string
	// Deleted tells that the name no longer leads to the file.
	Deleted bool
}
