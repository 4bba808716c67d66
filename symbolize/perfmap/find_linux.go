package perfmap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/symbolize/procmap"
)

const (
	// tickNanos is the unit of /proc/PID/stat: USER_HZ is 100 on all machines
	// that we run on.
	tickNanos = uint64(time.Second) / 100
	// startSlack is how far the start that the caller knows may be off. Events
	// tell it later than it was, procfs in ticks.
	startSlack = uint64(2 * time.Second)
	// olderBy is how much older than its process a map may look, for the
	// coarse time stamps of file systems.
	olderBy = time.Second
	// maxProcFile bounds what is read of status and stat.
	maxProcFile = 8 << 10
)

// File is an opened perf map.
type File struct {
	*os.File
	ID   ID
	Size int64
}

// Place is where the map of a process is, or will be when its runtime writes it
// late or at its end: the process's /tmp, which stays open. Close it soon after
// the process has ended, because it keeps file systems from being unmounted.
// It is not safe for concurrent use.
type Place struct {
	procRoot string
	pid      int
	tmp      int // a path descriptor
	status   status
	started  time.Time
	start    uint64 // the same in nanoseconds of CLOCK_BOOTTIME
}

// Find opens the perf map of a process; procRoot is where procfs is mounted
// and startNanos (CLOCK_BOOTTIME) tells the process from a later one of the
// same PID, 0 if not known. It returns ErrNone if there is no map or no such
// process, or wraps a Refusal if the map must not be read.
func Find(procRoot string, pid int, startNanos uint64) (*File, error) {
	p, err := Locate(procRoot, pid, startNanos)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return p.Open()
}

// Locate finds out where a process that runs has its map, whether that is there
// yet or not. Parameters and errors are those of Find.
func Locate(procRoot string, pid int, startNanos uint64) (*Place, error) {
	// All that follows goes through this descriptor, so that it concerns one
	// process even if the PID is given to another meanwhile.
	dir, err := unix.Open(filepath.Join(procRoot, strconv.Itoa(pid)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, ErrNone
	}
	defer unix.Close(dir)
	start, started, ok := startOf(dir)
	if !ok || !sameStart(start, startNanos) {
		return nil, ErrNone
	}
	text, err := readProc(dir, "status")
	if err != nil {
		return nil, ErrNone
	}
	root, err := openRoot(procRoot, dir, pid)
	if err != nil {
		return nil, refusalOf(err)
	}
	defer unix.Close(root)
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	tmp, err := unix.Openat2(root, "tmp", &how)
	if err != nil {
		return nil, refusalOf(err)
	}
	return &Place{procRoot: procRoot, pid: pid, tmp: tmp, status: parseStatus(text), start: start, started: started}, nil
}

// Close releases the place; a nil one has nothing to release.
func (p *Place) Close() {
	if p != nil {
		unix.Close(p.tmp)
	}
}

// IsOf tells whether it is that of a process that began at startNanos
// (CLOCK_BOOTTIME; 0 if that is not known).
func (p *Place) IsOf(startNanos uint64) bool { return sameStart(p.start, startNanos) }

// Open opens the map, even after the process has ended. It returns ErrNone if
// there is none, or wraps a Refusal if it must not be read.
func (p *Place) Open() (*File, error) {
	var first error = ErrNone
	for _, name := range p.status.fileNames(p.pid) {
		f, err := p.open(name)
		if err == nil {
			return f, nil
		}
		if errors.Is(first, ErrNone) {
			first = err
		}
	}
	return nil, first
}

// openRoot opens the root of a process, through another thread if the first
// has exited.
func openRoot(procRoot string, dir, pid int) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	root, err := unix.Openat(dir, "root", flags, 0)
	if !errors.Is(err, unix.ENOENT) {
		return root, err
	}
	tids := procmap.OtherThreads(procRoot, pid)
	if len(tids) == 0 {
		return -1, err
	}
	return unix.Openat(dir, filepath.Join("task", strconv.Itoa(tids[0]), "root"), flags, 0)
}

func refusalOf(err error) error {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: %w", RefusedDenied, err)
	}
	return ErrNone
}

// startOf returns when the process began: in nanoseconds of CLOCK_BOOTTIME and
// on the wall clock.
func startOf(dir int) (nanos uint64, t time.Time, ok bool) {
	text, err := readProc(dir, "stat")
	if err != nil {
		return 0, t, false
	}
	ticks, ok := parseStartTicks(text)
	if !ok {
		return 0, t, false
	}
	var boot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return 0, t, false
	}
	nanos = ticks * tickNanos
	return nanos, time.Now().Add(time.Duration(nanos) - time.Duration(boot.Nano())), true
}

// sameStart compares when a process began with what the caller knows of that,
// 0 for nothing.
func sameStart(start, known uint64) bool {
	return known == 0 || max(start, known)-min(start, known) <= startSlack
}

func readProc(dir int, name string) ([]byte, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, maxProcFile)
	n, err := unix.Read(fd, b)
	return b[:max(n, 0)], err
}

// open opens a file of /tmp. It is looked at before it is opened for reading,
// because opening a FIFO or a device already does something.
func (p *Place) open(name string) (*File, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
	}
	path, err := unix.Openat2(p.tmp, name, &how)
	if err != nil {
		return nil, refusalOf(err)
	}
	defer unix.Close(path)
	var s unix.Stat_t
	if err := unix.Fstat(path, &s); err != nil {
		return nil, refusalOf(err)
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, RefusedNotRegular
	case s.Uid != 0 && !slices.Contains(p.status.uids, s.Uid):
		return nil, RefusedOwner
	case time.Unix(s.Mtim.Unix()).Add(olderBy).Before(p.started):
		return nil, RefusedOlder
	}
	link := filepath.Join(p.procRoot, "self/fd", strconv.Itoa(path))
	fd, err := unix.Open(link, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, refusalOf(err)
	}
	return &File{File: os.NewFile(uintptr(fd), name), ID: ID{Dev: uint64(s.Dev), Inode: s.Ino}, Size: s.Size}, nil
}
