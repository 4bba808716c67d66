package bpf

import "time"

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
		hooks: []hook{
			{program: fileOpensProgOpensThreadExit, event: "sched_process_exit", since: "5.5"},
			{program: fileOpensProgOpensExit, event: "sys_exit", since: "5.5"},
			{program: fileOpensProgOpensEnter, event: "sys_enter", since: "5.5"},
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
		hooks: []hook{
			{program: fileReadsProgReadsThreadExit, event: "sched_process_exit", since: "5.5"},
			{program: fileReadsProgReadsExit, event: "sys_exit", since: "5.5"},
			{program: fileReadsProgReadsEnter, event: "sys_enter", since: "5.5"},
		},
		events: 8192,
	}
}
