package symbolize

import (
	"bytes"
	"debug/elf"
	"io"
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// restorerName is what C libraries call the code to which signal handlers
// return. It is in no table of stripped ones.
const restorerName = "__restore_rt"

// rtSigreturn is that code on x86-64, the same in glibc, musl and others
// because debuggers know it by its bytes: mov $15, %rax; syscall.
const rtSigreturn = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"

const (
	// maxSigreturnScan bounds the code that is searched, and maxGoScan that of Go
	// programs, which are as big as all their libraries.
	maxSigreturnScan = 16 << 20
	maxGoScan        = 128 << 20
	maxSigreturns    = 4
	// sigreturnBytes is the length of such code, 8 or 9 on all architectures.
	sigreturnBytes = addr.Offset(len(rtSigreturn))
)

// findSigreturns returns where the code lies to which signal handlers return:
// by name, as in the vDSO, and by its bytes in what installs handlers.
func findSigreturns(f *elffile.File, img *image, r io.ReaderAt) []addr.Offset {
	var found []addr.Offset
	for _, name := range []string{restorerName, "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn"} {
		if i, ok := img.symbols.Find(name); ok {
			start, _ := img.symbols.Range(i)
			for _, s := range img.segments {
				if s.Contains(start) {
					found = append(found, s.Offset+addr.Offset(start-s.Start))
				}
			}
		}
	}
	if f.Machine != elf.EM_X86_64 {
		return found
	}
	limit := uint64(0)
	if _, installs := img.symbols.Find("sigaction"); img.goLimit != 0 {
		limit = maxGoScan
	} else if installs && len(found) == 0 {
		limit = maxSigreturnScan
	}
	for _, s := range img.segments {
		if s.Executable && uint64(s.Limit-s.Start) <= limit {
			found = append(found, scan(r, s)...)
		}
	}
	return found[:min(len(found), maxSigreturns)]
}

// scan searches a segment for the bytes.
func scan(r io.ReaderAt, s elffile.Segment) []addr.Offset {
	var found []addr.Offset
	size := addr.Offset(s.Limit - s.Start)
	buf := make([]byte, min(256<<10, size))
	step := addr.Offset(len(buf) - len(rtSigreturn) + 1)
	for at := addr.Offset(0); at < size && len(buf) > len(rtSigreturn); at += step {
		n, _ := r.ReadAt(buf[:min(addr.Offset(len(buf)), size-at)], int64(s.Offset+at)) // what was read counts
		for b, off := buf[:n], s.Offset+at; len(found) < maxSigreturns; {
			i := bytes.Index(b, []byte(rtSigreturn))
			if i < 0 {
				break
			}
			if hit := off + addr.Offset(i); !slices.Contains(found, hit) {
				found = append(found, hit)
			}
			b, off = b[i+1:], off+addr.Offset(i+1)
		}
	}
	return found
}
