package bpf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// Running is a process that runs now.
type Running struct {
	SpaceRequest
	CPUTime time.Duration // of the threads that it has now
}

// Running returns the processes that run now, those first that have used most CPU
// time. It needs FollowExecs and kernel 5.8; else the error is
// ebpf.ErrNotSupported, wrapped.
func (t *Tables) Running() (_ []Running, err error) {
	if t.exec == nil || t.exec.Programs[unwindProgUnwindThreads] == nil {
		return nil, fmt.Errorf("iterate over threads: %w", ebpf.ErrNotSupported)
	}
	l, err := link.AttachIter(link.IterOptions{Program: t.exec.Programs[unwindProgUnwindThreads]})
	if err != nil {
		return nil, fmt.Errorf("iterate over threads: %w", err)
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	r, err := l.Open()
	if err != nil {
		return nil, fmt.Errorf("iterate over threads: %w", err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read the list of threads: %w", err)
	}
	return byProcess(b), nil
}

// threadBytes is the size of struct ft_thread.
const threadBytes = 32

// byProcess adds up threads.
func byProcess(b []byte) []Running {
	used := make(map[SpaceRequest]time.Duration)
	for ; len(b) >= threadBytes; b = b[threadBytes:] {
		key := SpaceRequest{
			StartNanos: binary.NativeEndian.Uint64(b),
			ExecID:     binary.NativeEndian.Uint64(b[8:]),
			PID:        binary.NativeEndian.Uint32(b[24:]),
		}
		used[key] += time.Duration(binary.NativeEndian.Uint64(b[16:]))
	}
	list := make([]Running, 0, len(used))
	for key, t := range used {
		list = append(list, Running{key, t})
	}
	slices.SortFunc(list, func(a, b Running) int { return cmp.Compare(b.CPUTime, a.CPUTime) })
	return list
}
