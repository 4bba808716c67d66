package child

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exec makes this process the command that Start was given, and returns an exit
// code only if that fails. Its arguments are those after ExecName: the pipe ends
// to wait at and to tell errors to, the file to execute, and the command's
// arguments beginning with its name.
func Exec(args []string) int {
	if len(args) < 4 {
		return CodeNotExecutable
	}
	waits, err1 := strconv.Atoi(args[0])
	tells, err2 := strconv.Atoi(args[1])
	if errors.Join(err1, err2) != nil {
		return CodeNotExecutable
	}
	// The command must not inherit them; that the second one closes is also how
	// the parent learns that all went well.
	unix.CloseOnExec(waits)
	unix.CloseOnExec(tells)
	path, argv := args[2], args[3:]
	// Samples of the system call that executes the file count as the command's.
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(path)), 0)
	if !wait(waits) {
		return CodeNotExecutable // the parent gave up
	}
	err := syscall.Exec(path, argv, os.Environ())
	if errors.Is(err, syscall.ENOEXEC) {
		// A script without an interpreter line is the shell's, as in execvp(3).
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, argv[1:]...), os.Environ())
	}
	errno := syscall.ENOEXEC
	_ = errors.As(err, &errno)
	_, _ = unix.Write(tells, []byte(strconv.Itoa(int(errno))))
	return execCode(errno)
}

// wait blocks until a byte comes, or returns false if none will.
func wait(fd int) bool {
	var b [1]byte
	for {
		n, err := unix.Read(fd, b[:])
		if !errors.Is(err, unix.EINTR) {
			return n == 1
		}
	}
}

func execCode(errno syscall.Errno) int {
	if errno == syscall.ENOENT {
		return CodeNotFound
	}
	return CodeNotExecutable
}
