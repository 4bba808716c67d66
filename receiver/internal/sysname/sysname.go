package sysname

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/internal/suggest"
)

// x32 marks the calls of 32-bit pointers in 64-bit mode (__X32_SYSCALL_BIT).
const x32 = 1 << 30

// Name returns the name of a system call; is32 tells that a 32-bit program's
// number is meant. Numbers without a name are called syscall_NUMBER.
func Name(nr uint32, is32 bool) string {
	table, suffix := native[:], ""
	if is32 {
		table, suffix = compat[:], "/32"
	} else if nr&x32 != 0 {
		nr, suffix = nr&^x32, "/x32"
	}
	if int(nr) < len(table) && table[nr] != "" {
		return table[nr] + suffix
	}
	return "syscall_" + strconv.FormatUint(uint64(nr), 10) + suffix
}

// Number returns the number of a system call of 64-bit programs.
func Number(name string) (nr uint32, ok bool) {
	i := slices.Index(native[:], name)
	if name == "" || i < 0 {
		return 0, false
	}
	return uint32(i), true
}

// CompatNumber is Number for 32-bit programs.
func CompatNumber(name string) (nr uint32, ok bool) {
	i := slices.Index(compat[:], name)
	if name == "" || i < 0 {
		return 0, false
	}
	return uint32(i), true
}

// Nearest returns the names most like one that does not exist, best first.
func Nearest(name string, n int) []string {
	var names []string
	for _, known := range native {
		if known != "" {
			names = append(names, known)
		}
	}
	unlike := func(known string) int {
		if name != "" && strings.Contains(known, name) {
			return 0 // fstatat is meant to be newfstatat
		}
		return suggest.Distance(name, known)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(unlike(a), unlike(b)) })
	return names[:min(n, len(names))]
}

// Error returns the name of an error number, such as ENOENT.
func Error(errno uint32) string {
	if name := unix.ErrnoName(unix.Errno(errno)); name != "" {
		return name
	}
	return fmt.Sprintf("errno_%d", errno)
}
