package bpf

// EventKind tells what happened to a process.
type EventKind uint8

// The kinds of events.
const (
	EventMmap   EventKind = iota + 1 // memory that may hold code was mapped
	EventComm                        // a thread got a name, by exec if Exec is set
	EventFork                        // a process or thread was started
	EventExit                        // a thread ended
	EventLost                        // events were lost: what is known may be stale
	EventSymbol                      // the kernel got or lost code at run time: BPF programs, trampolines
)

// Event is what the kernel tells of a process when it happens. Process and
// thread IDs are those of the PID namespace that the reader was opened in.
type Event struct {
	Kind EventKind
	// Nanos is the time, CLOCK_MONOTONIC.
	Nanos uint64
	// PID is the process, TID the thread. For EventFork they are the child's,
	// and ParentPID is the process that started it.
	PID, TID, ParentPID uint32

	// Exec marks the EventComm of an exec: all earlier mappings are gone.
	Exec bool
	// Comm is the new name of the thread, or of the symbol, raw bytes.
	Comm string

	// Start, Length, Offset: the mapping; addresses are virtual, Offset is in
	// the file, all in bytes.
	Start, Length, Offset uint64
	// Dev and Inode are the file's identity, as /proc/PID/maps shows it; 0 for
	// memory without a file.
	Dev   uint64
	Inode uint64
	// Gone marks an EventSymbol of code that was removed; it occupied Start and
	// Length. Comm is the symbol's name.
	Gone bool
	// Path is the file in the mount namespace of the process, raw bytes;
	// "//anon" for memory without a file, "[vdso]" and the like.
	Path string

	// Lost is how many events an EventLost stands for.
	Lost uint64
}
