// Package procmap holds the memory mappings of processes and reads them from
// /proc/PID/maps.
package procmap

import (
	"time"

	"github.com/flametel/flametel/symbolize/addr"
)

// Mapping is a range of virtual memory that may hold code.
type Mapping struct {
	// Start and Limit are the range [Start, Limit).
	Start, Limit addr.Virtual
	// Offset is where Start lies in the file.
	Offset addr.Offset
	// Dev and Inode are the file's identity as the kernel printed it, Dev as
	// DeviceNumber makes it; 0 for memory without a file. On overlay and btrfs
	// they differ from stat.
	Dev   uint64
	Inode uint64
	// BuildID is the GNU build ID of the mapped file if whoever made the
	// mapping knows it, else nil: a file with another one is not this one.
	BuildID []byte
	// Path is the file name in the process's mount namespace, without the
	// suffix " (deleted)"; "[vdso]", "[vsyscall]", "[heap]", ...; "" or "//anon"
	// for anonymous memory. Bytes are as the kernel gave them, escapes undone.
	Path string
	// Deleted tells that the name no longer leads to the file.
	Deleted bool
	// Executable tells that the memory may be executed.
	Executable bool
	// Seen is when the mapping was there, zero if not known. A file that was
	// written to later may not be what was mapped.
	Seen time.Time
}

// DeviceNumber returns major and minor in the form of stat's st_dev (the
// kernel's new_encode_dev widened to 64 bits, include/linux/kdev_t.h and
// glibc's makedev).
func DeviceNumber(major, minor uint32) uint64 {
	return uint64(major&0x00000fff)<<8 | uint64(major&0xfffff000)<<32 |
		uint64(minor&0x000000ff) | uint64(minor&0xffffff00)<<12
}

// File tells whether code in this mapping comes from a file that can be
// opened by name or through map_files, and not from anonymous memory or one of
// the kernel's own pages.
func (m *Mapping) File() bool {
	return len(m.Path) > 1 && m.Path[0] == '/' && m.Path[1] != '/'
}
