package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// clock is the sampling event of one CPU with the program attached.
type clock struct {
	fd   int
	link *link.RawLink // nil on kernels before 5.15, where the event holds the program
	ran  uint64        // nanoseconds, up to the last call of runs
}

// openClock starts sampling a CPU. The clock runs with a fixed period, not
// with a frequency that the kernel adjusts and misses: a sample stands for
// periodNanos of CPU time.
func openClock(cpu int, periodNanos uint64, program *ebpf.Program) (*clock, error) {
	return openSoftware(cpu, unix.PERF_COUNT_SW_CPU_CLOCK, periodNanos, program)
}

// openSoftware runs a program once for so many of the events that the kernel
// counts itself, PERF_COUNT_SW_*, on a CPU.
func openSoftware(cpu int, config, period uint64, program *ebpf.Program) (_ *clock, err error) {
	attr := unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: config,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: period,
		Bits:   unix.PerfBitDisabled,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, perfOpenError("open the CPU clock", cpu, err)
	}
	c := &clock{fd: fd}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.attach(program); err != nil {
		return nil, fmt.Errorf("attach to the clock of CPU %d: %w", cpu, err)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
		return nil, fmt.Errorf("enable the clock of CPU %d: %w", cpu, err)
	}
	return c, nil
}

func (c *clock) attach(program *ebpf.Program) error {
	l, err := link.AttachRawLink(link.RawLinkOptions{
		Target: c.fd, Program: program, Attach: ebpf.AttachPerfEvent,
	})
	if err == nil {
		c.link = l
		return nil
	}
	// Links to perf events came with 5.15 (b89fbfbb854c); EINVAL before.
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, ebpf.ErrNotSupported) {
		return err
	}
	return unix.IoctlSetInt(c.fd, unix.PERF_EVENT_IOC_SET_BPF, program.FD())
}

// runs tells whether the clock has gone on since the last call; the first call may
// say so of one that has stopped before.
func (c *clock) runs() bool {
	var count [8]byte
	n, err := unix.Read(c.fd, count[:])
	before := c.ran
	c.ran = binary.NativeEndian.Uint64(count[:])
	return err == nil && n == len(count) && c.ran != before
}

func (c *clock) close() {
	if c.link != nil {
		_ = c.link.Close()
	}
	_ = unix.Close(c.fd)
}

func perfOpenError(what string, cpu int, err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return newPrivilegeError(fmt.Sprintf("%s of CPU %d", what, cpu), err)
	}
	return fmt.Errorf("%s of CPU %d: %w", what, cpu, err)
}

// cpuGone tells whether a CPU went away between listing and opening it.
func cpuGone(err error) bool {
	return errors.Is(err, unix.ENODEV)
}
