package bpf

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// waiter waits for a descriptor through the poller of the Go runtime. A goroutine
// that waits in a system call of its own takes a processor of the runtime with it
// until the runtime's monitor takes that away, after 10 ms in which the monitor
// wakes up some sixty times: more than all else that an event costs.
type waiter struct {
	file   *os.File
	conn   syscall.RawConn
	closed atomic.Bool
}

// newWaiter takes a descriptor over.
func newWaiter(fd int) (*waiter, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("wait for events: %w", err)
	}
	file := os.NewFile(uintptr(fd), "events")
	conn, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("wait for events: %w", err)
	}
	return &waiter{file: file, conn: conn}, nil
}

// wait returns nil as soon as ready returns true. It asks at once, and again each
// time when the descriptor becomes readable. The error is os.ErrClosed once
// the waiter is closed.
func (w *waiter) wait(ready func() bool) error {
	err := w.conn.Read(func(uintptr) bool { return ready() })
	if err != nil && w.closed.Load() {
		return os.ErrClosed
	}
	return err
}

// close ends wait, waits for ready to return, and closes the descriptor. It may be
// called more than once.
func (w *waiter) close() {
	w.closed.Store(true)
	_ = w.file.Close()
}
