package debuginfo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenIn returns an Opener for the files below root, which is a directory such
// as /proc/PID/root or "/". Links are followed, as debug directories are full
// of them, but never out of root. What is not a regular file, can be written
// to by everybody, or belongs to neither root, the profiler nor the program's
// owner is not opened. procRoot is where procfs is mounted.
func OpenIn(procRoot, root string) Opener {
	return func(name string, owner os.FileInfo) (*os.File, error) {
		dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: root, Err: err}
		}
		defer unix.Close(dir)
		// Looked at before it is opened for reading, because opening a FIFO or
		// a device already does something.
		how := unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
		}
		fd, err := unix.Openat2(dir, strings.TrimLeft(name, "/"), &how)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		defer unix.Close(fd)
		if err := checkOwner(fd, owner); err != nil {
			return nil, err
		}
		link := filepath.Join(procRoot, "self/fd", strconv.Itoa(fd))
		file, err := unix.Open(link, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(file), name), nil
	}
}

// checkOwner looks at an opened path.
func checkOwner(fd int, owner os.FileInfo) error {
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return err
	}
	trusted := s.Uid == 0 || int(s.Uid) == os.Geteuid()
	if owner != nil && !trusted {
		st, ok := owner.Sys().(*syscall.Stat_t)
		trusted = ok && st.Uid == s.Uid
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case !trusted:
		return fmt.Errorf("it belongs to user %d, who owns neither the program nor the system", s.Uid)
	case s.Mode&0o002 != 0:
		return errors.New("everybody may write to it")
	}
	return nil
}
