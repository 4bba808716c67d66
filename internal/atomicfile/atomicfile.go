// Package atomicfile writes files so that at any moment there is either the old
// one or the whole new one.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Modes of what we make: profiles tell what a host runs and with what names, so
// nobody else reads them unless the administrator says so.
const (
	fileMode   = 0o600
	folderMode = 0o700
)

// tempPattern is the name of a file that is not complete yet. It begins with a
// dot so that no pattern for finished files matches it.
const tempPattern = ".flametel-*.tmp"

// IsDevice reports whether a path names something that is written in place:
// replacing /dev/stdout or /dev/null by a file would harm the whole system.
// Below /dev/shm there are ordinary files.
func IsDevice(path string) bool {
	clean := filepath.Clean(path)
	return strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/dev/shm/") || strings.HasPrefix(clean, "/proc/")
}

// PrepareDevice proves that a device can be written: none can be made.
func PrepareDevice(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be written, and no file can be made there; choose another path: %w", path, reason(err))
	}
	return f.Close()
}

// PrepareFolder makes the folder of a path if it is missing, and proves that a
// file can be made in it.
func PrepareFolder(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("folder %s cannot be made; choose another path or make it writable: %w", dir, reason(err))
	}
	probe, err := os.CreateTemp(dir, tempPattern)
	if err != nil {
		return fmt.Errorf("folder %s cannot be written; choose another path or make it writable: %w", dir, reason(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// reason strips operation and path from an error: our own text names them.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Write makes a file of what a function writes, and its folder if that is missing.
// If there is an error, the old file stays as it was. A symbolic link at the path
// is replaced, never followed, as others may have put it there. A device is written
// in place.
func Write(path string, write func(io.Writer) error) error {
	if IsDevice(path) {
		return writeDevice(path, write)
	}
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("write %s: it is %s, not a regular file; choose another path", path, describe(st.Mode()))
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	temp, err := os.CreateTemp(dir, tempPattern) // mode 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := finish(temp, path, write); err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("write %s: %w", path, reason(err)) // nobody knows the temporary file
	}
	return nil
}

// finish fills the temporary file and gives it its name.
func finish(temp *os.File, path string, write func(io.Writer) error) error {
	err := Fill(temp, write)
	if err == nil {
		err = temp.Sync()
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// Fill lets a function write to a file through a buffer.
func Fill(f io.Writer, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// syncFolder makes a rename last. Some file systems cannot do it; then the
// rename is as safe as they make it.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync()
	return d.Close()
}

func writeDevice(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(Fill(f, write), f.Close())
}

func describe(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
