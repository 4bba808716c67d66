package bpf

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Hotplug tells when CPUs come online or go away.
type Hotplug struct {
	fd     int // owned by waiter
	waiter *waiter
	buffer [4096]byte // longer than any of the kernel's messages (UEVENT_BUFFER_SIZE)
}

// kernelEvents is the multicast group of what the kernel says of devices; its
// other one is of the device manager (lib/kobject_uevent.c).
const kernelEvents = 1

// NewHotplug listens to the kernel. In a container whose user namespace is not the
// host's, it hears nothing.
func NewHotplug() (*Hotplug, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("listen for CPUs that come and go: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelEvents}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listen for CPUs that come and go: %w", err)
	}
	w, err := newWaiter(fd)
	if err != nil {
		return nil, fmt.Errorf("listen for CPUs that come and go: %w", err)
	}
	return &Hotplug{fd: fd, waiter: w}, nil
}

// Run calls changed whenever something has happened to a CPU, until Close. Who
// sent a message is not checked: it is a reason to look, no more.
func (h *Hotplug) Run(changed func()) error {
	for {
		seen := false
		var failed error
		err := h.waiter.wait(func() (done bool) {
			seen, failed = h.read()
			return seen || failed != nil
		})
		switch {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil || failed != nil:
			return fmt.Errorf("listen for CPUs that come and go: %w", errors.Join(err, failed))
		}
		changed()
	}
}

// read takes all messages that are there and tells whether one is of a CPU.
func (h *Hotplug) read() (ofCPU bool, err error) {
	for {
		n, _, err := unix.Recvfrom(h.fd, h.buffer[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return ofCPU, nil
		case errors.Is(err, unix.ENOBUFS): // some were dropped
			ofCPU = true
		case err != nil:
			return ofCPU, err
		default:
			ofCPU = ofCPU || isOfCPU(h.buffer[:n])
		}
	}
}

// isOfCPU reads a message, which begins with "action@path" and a zero byte.
func isOfCPU(message []byte) bool {
	head, _, _ := bytes.Cut(message, []byte{0})
	_, path, _ := bytes.Cut(head, []byte{'@'})
	return bytes.HasPrefix(path, []byte("/devices/system/cpu/"))
}

// Close ends Run.
func (h *Hotplug) Close() { h.waiter.close() }
