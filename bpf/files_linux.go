package bpf

import (
	"runtime"
	"time"
)

// Functions that carry out the calls of filecalls.h: arch/x86/entry/syscalls/ of the
// kernel, and arch/arm64/include/asm/unistd32.h. On arm64 both sorts of programs
// come by some of them.
var (
	openFunctions = map[string][]string{
		"amd64": {"__x64_sys_open", "__x64_sys_openat", "__x64_sys_openat2", "__x64_sys_creat"},
		"arm64": {"__arm64_sys_openat", "__arm64_sys_openat2", "__arm64_sys_creat"},
	}
	openFunctions32 = map[string][]string{
		"amd64": {"__ia32_compat_sys_open", "__ia32_compat_sys_openat", "__ia32_sys_openat2", "__ia32_sys_creat"},
		"arm64": {"__arm64_compat_sys_open", "__arm64_compat_sys_openat"},
	}
	readFunctions = map[string][]string{
		"amd64": {
			"__x64_sys_read", "__x64_sys_pread64", "__x64_sys_readv", "__x64_sys_preadv", "__x64_sys_preadv2", "__x64_sys_sendfile64",
		},
		"arm64": {
			"__arm64_sys_read", "__arm64_sys_pread64", "__arm64_sys_readv", "__arm64_sys_preadv", "__arm64_sys_preadv2", "__arm64_sys_sendfile64",
		},
	}
	readFunctions32 = map[string][]string{
		"amd64": {
			"__ia32_sys_read", "__ia32_sys_ia32_pread64", "__ia32_sys_readv", "__ia32_compat_sys_preadv",
			"__ia32_compat_sys_preadv2", "__ia32_compat_sys_sendfile", "__ia32_sys_sendfile64",
		},
		"arm64": {
			"__arm64_compat_sys_aarch32_pread64", "__arm64_compat_sys_preadv", "__arm64_compat_sys_preadv2",
			"__arm64_compat_sys_sendfile", "__arm64_compat_sys_sendfile64",
		},
	}
)

// FileOpenOptions set up FileOpens.
type FileOpenOptions struct {
	// FailedOnly leaves out files that could be opened.
	FailedOnly bool
	// LookInterval is about how often the stack of a thread is taken that opens
	// many files; 0 means each time.
	LookInterval time.Duration
}

// Bits of Sample.Detail of files (file_opens.bpf.c), besides those of system
// calls.
const (
	FileNoPath  = 1 << 50 // the path could not be read
	FileCutPath = 1 << 51 // it is longer than paths can be
)

// FileOpens sees open, openat, openat2 and creat. Sample.Sums[0] are
// nanoseconds, see Syscalls for the sorts of samples. Sample.Record is the path
// that was asked for and, if that is relative, the folder it is relative to:
// texts that end in a zero byte.
func FileOpens(o FileOpenOptions) *Probe {
	return &Probe{
		object: &object{name: "file_opens", spec: loadFileOpens, variables: map[string]any{
			fileOpensVarFailedOnly: o.FailedOnly,
			fileOpensVarLookNs:     uint64(o.LookInterval),
			fileOpensVarAlwaysNs:   uint64(minAlways),
		}},
		hooks: []hook{{program: fileOpensProgOpensThreadExit, event: "sched_process_exit", since: "5.5"}},
		calls: &callPrograms{
			enter: fileOpensProgOpensEnter, exit: fileOpensProgOpensExit,
			call: fileOpensProgOpensCall, done: fileOpensProgOpensDone,
			returns: fileOpensProgOpensReturn, ends: fileOpensMapOpensEnds,
			functions: openFunctions[runtime.GOARCH], functions32: openFunctions32[runtime.GOARCH],
		},
		events: 8192,
		more:   readCells,
	}
}

// FileReadOptions set up FileReads.
type FileReadOptions struct {
	// MinDuration leaves shorter reads out.
	MinDuration time.Duration
	// LookInterval is about how often the stack of a thread is taken that reads
	// often; 0 means each time.
	LookInterval time.Duration
}

// FileReads sees regular files read by read, pread, readv, preadv, preadv2 and
// sendfile. Sample.Sums are nanoseconds and bytes, see Syscalls for the sorts of
// samples. Sample.Record is the path of the file, as the process sees it.
func FileReads(o FileReadOptions) *Probe {
	return &Probe{
		object: &object{name: "file_reads", spec: loadFileReads, variables: map[string]any{
			fileReadsVarMinNs:    uint64(o.MinDuration),
			fileReadsVarLookNs:   uint64(o.LookInterval),
			fileReadsVarAlwaysNs: uint64(minAlways),
		}},
		hooks: []hook{{program: fileReadsProgReadsThreadExit, event: "sched_process_exit", since: "5.5"}},
		calls: &callPrograms{
			enter: fileReadsProgReadsEnter, exit: fileReadsProgReadsExit,
			call: fileReadsProgReadsCall, done: fileReadsProgReadsDone,
			returns: fileReadsProgReadsReturn, ends: fileReadsMapReadsEnds,
			functions: readFunctions[runtime.GOARCH], functions32: readFunctions32[runtime.GOARCH],
		},
		events: 8192,
	}
}
