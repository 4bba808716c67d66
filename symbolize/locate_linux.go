package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/procmap"
)

// located is an open file that is the one that a process has mapped.
type located struct {
	file    *os.File
	id      identity
	buildID []byte // GNU, nil if the file has none
}

var errOther = errors.New("it is not the file that was mapped")

// maxVDSO bounds the image of a vDSO, which has two to four pages.
const maxVDSO = 64 << 10

func itoa(n int) string { return strconv.Itoa(n) }

// locate opens the file behind a mapping: by what the kernel says is mapped
// there, as the program of the process, by its name below the process's root,
// and by its name here, if the build ID, or device and inode, prove that it is
// the same file: for processes that are gone.
func (s *Symbolizer) locate(o origin) (*located, error) {
	l, err := s.locateBy(o.pid, &o.mapping)
	if err == nil {
		return l, nil
	}
	// Nothing can be seen of a process through its first thread once that has
	// exited; the folders of its other threads are there, though not listed.
	if tids := procmap.OtherThreads(s.opts.ProcRoot, o.pid); len(tids) > 0 {
		if l, err := s.locateBy(tids[0], &o.mapping); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("open %s of process %d: %w", o.mapping.Path, o.pid, err)
}

// locateBy is locate through one thread.
func (s *Symbolizer) locateBy(tid int, m *procmap.Mapping) (*located, error) {
	dir := filepath.Join(s.opts.ProcRoot, itoa(tid))
	var errs []error
	take := func(fd int, err error, mapped bool, proof string) *located {
		if err == nil {
			var l *located
			if l, err = s.check(fd, m, mapped); err == nil {
				if proven(l, m, filepath.Join(dir, proof)) {
					return l
				}
				l.file.Close()
				err = errOther
			}
		}
		errs = append(errs, err)
		return nil
	}
	link := fmt.Sprintf("map_files/%x-%x", uint64(m.Start), uint64(m.Limit))
	fd, err := openPath(filepath.Join(dir, link))
	if l := take(fd, err, true, link); l != nil {
		return l, nil
	}
	fd, err = openPath(filepath.Join(dir, "exe"))
	if l := take(fd, err, false, "exe"); l != nil {
		return l, nil
	}
	if !m.Deleted {
		fd, err = openBelow(filepath.Join(dir, "root"), m.Path)
		if l := take(fd, err, false, "root"); l != nil {
			return l, nil
		}
	}
	if !m.Deleted && (len(m.BuildID) > 0 || m.Inode != 0) {
		fd, err = openPath(m.Path)
		if l := take(fd, err, false, ""); l != nil && (len(m.BuildID) > 0 || l.id.dev == m.Dev) {
			return l, nil
		} else if l != nil {
			l.file.Close()
			errs = append(errs, errOther)
		}
	}
	return nil, errors.Join(errs...)
}

// clockTick is how far times of files lag behind the clock: a tick, the longest
// being that of kernels with 100 of them a second.
const clockTick = 10 * time.Millisecond

// proven tells whether a file has the contents that were mapped. A program
// cannot be written to while it runs, but as soon as it has ended: so what
// proves that the process maps it, a link in its folder in procfs, must be
// there after the file was read. If the process is gone, the file must not have
// been written to since.
func proven(l *located, m *procmap.Mapping, proof string) bool {
	if len(m.BuildID) > 0 || m.Seen.IsZero() || m.Seen.Add(-clockTick).UnixNano() > l.id.mtime {
		return true
	}
	_, err := os.Readlink(proof)
	return err == nil
}

// openPath and openBelow return descriptors that cannot be read yet: opening a
// FIFO or a device for reading would already do something.
func openPath(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

func openBelow(root, name string) (int, error) {
	dir, err := openPath(root)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: filepath.Join(root, name), Err: err}
	}
	return fd, nil
}

// check opens a path descriptor, which it takes over, for reading if it is the
// regular file that m maps. A build ID decides alone. Without one the inode
// must be the same; the device may differ, because stacked file systems and
// btrfs show another one in maps than in stat. There the inode may differ too,
// which is believed only of what the kernel says is mapped.
func (s *Symbolizer) check(path int, m *procmap.Mapping, mapped bool) (*located, error) {
	defer unix.Close(path)
	var st unix.Stat_t
	if err := unix.Fstat(path, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.New("it is not a regular file")
	}
	if stacked := mapped && uint64(st.Dev) != m.Dev; len(m.BuildID) == 0 && st.Ino != m.Inode && !stacked {
		return nil, errOther
	}
	fd, err := unix.Open(filepath.Join(s.opts.ProcRoot, "self/fd", itoa(path)), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), m.Path)
	l := &located{file: f, id: identityOf(&st)}
	if e, err := elffile.New(f, st.Size); err == nil {
		l.buildID = e.BuildIDs().GNU
	}
	now, err := identify(f)
	if err != nil || len(m.BuildID) > 0 && !bytes.Equal(m.BuildID, l.buildID) || !now.sameContent(l.id) {
		f.Close()
		return nil, errOther
	}
	return l, nil
}

func identityOf(st *unix.Stat_t) identity {
	return identity{
		dev: uint64(st.Dev), inode: st.Ino, size: st.Size,
		mtime: st.Mtim.Nano(), change: st.Ctim.Nano(),
	}
}

// identify returns what an open file is now.
func identify(f *os.File) (identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return identity{}, err
	}
	return identityOf(&st), nil
}

// readVDSO copies the vDSO out of the memory of a process, "self" or a PID.
func (s *Symbolizer) readVDSO(pid string, m *procmap.Mapping) ([]byte, error) {
	start, limit := m.Start, m.Limit
	dir := filepath.Join(s.opts.ProcRoot, pid)
	if pid == "self" {
		own, err := ownVDSO(dir)
		if err != nil {
			return nil, err
		}
		start, limit = own.Start, own.Limit
	}
	if limit <= start || limit-start > maxVDSO {
		return nil, fmt.Errorf("read vdso: %#x-%#x is no vdso", start, limit)
	}
	mem, err := os.Open(filepath.Join(dir, "mem"))
	if err != nil {
		return nil, err
	}
	defer mem.Close()
	b := make([]byte, limit-start)
	if _, err := mem.ReadAt(b, int64(start)); err != nil {
		return nil, fmt.Errorf("read vdso: %w", err)
	}
	return b, nil
}

func ownVDSO(dir string) (m procmap.Mapping, err error) {
	f, err := os.Open(filepath.Join(dir, "maps"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	ms, err := procmap.Parse(f)
	for _, m := range ms {
		if m.Path == "[vdso]" {
			return m, nil
		}
	}
	if err == nil {
		err = errors.New("read vdso: this process has none")
	}
	return m, err
}
