package child

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is a running command, or the process that is to become it.
type Command struct {
	name    string
	cmd     *exec.Cmd
	release *os.File // the process waits for a byte from it
	status  *os.File // says why the command cannot be executed
	ended   chan struct{}
}

// Start makes the process and returns as soon as it exists. It fails with an
// *Error if there is no such command.
func Start(argv []string) (*Command, error) {
	path, err := Find(argv[0])
	if err != nil {
		return nil, err
	}
	waits, release, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	status, tells, err := os.Pipe()
	if err != nil {
		_, _ = waits.Close(), release.Close()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	c := &Command{name: argv[0], release: release, status: status, ended: make(chan struct{})}
	err = c.start(waits, tells, path, argv)
	if err := errors.Join(err, waits.Close(), tells.Close()); err != nil {
		_, _ = release.Close(), status.Close()
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // Code reads the state
	}()
	return c, nil
}

// start starts the process with both pipe ends open under numbers above those
// that its parents may have given a meaning, such as a job server's.
func (c *Command) start(waits, tells *os.File, path string, argv []string) error {
	args := []string{os.Args[0], ExecName}
	for _, f := range []*os.File{waits, tells} {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, 10)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		args = append(args, strconv.Itoa(fd))
	}
	c.cmd = &exec.Cmd{
		Path:   "/proc/self/exe",
		Args:   append(append(args, path), argv...),
		Stdin:  os.Stdin,
		Stdout: os.Stdout,
		Stderr: os.Stderr,
	}
	return c.cmd.Start()
}

// Find returns the file of a command, found as the shells do. It fails with an
// *Error if there is no such command or it cannot be executed.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot): // who has . in PATH wants it
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", &Error{name, CodeNotFound, errors.New("no such command in PATH")}
	case errors.Is(err, fs.ErrNotExist):
		return "", &Error{name, CodeNotFound, errors.New("no such file")}
	case errors.Is(err, fs.ErrPermission):
		return "", &Error{name, CodeNotExecutable, errors.New("not executable")}
	}
	var cause *exec.Error
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return "", &Error{name, CodeNotExecutable, err}
}

// PID is the process ID of the command.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// Release lets the process become the command. It fails with an *Error if the
// file cannot be executed.
func (c *Command) Release() error {
	_, writeErr := c.release.Write([]byte{'x'})
	_ = c.release.Close()
	text, err := io.ReadAll(io.LimitReader(c.status, 16))
	_ = c.status.Close()
	if err := errors.Join(writeErr, err); err != nil {
		if errors.Is(err, syscall.EPIPE) {
			return nil // it was killed while it waited; Code says how
		}
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	if len(text) == 0 {
		return nil
	}
	<-c.ended
	number, err := strconv.Atoi(string(text))
	if err != nil {
		return fmt.Errorf("start %s: %w", c.name, err)
	}
	errno := syscall.Errno(number)
	return &Error{c.name, execCode(errno), errno}
}

// Abandon ends the process before it became the command.
func (c *Command) Abandon() {
	_, _ = c.release.Close(), c.status.Close()
	<-c.ended
}

// Ended is closed when the command has ended.
func (c *Command) Ended() <-chan struct{} { return c.ended }

// Code waits for the end of the command and returns its exit code; 128 plus the
// signal's number if a signal ended it.
func (c *Command) Code() int {
	<-c.ended
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return codeSignal + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// Signal sends a signal to the command unless it has ended.
func (c *Command) Signal(s os.Signal) { _ = c.cmd.Process.Signal(s) }
