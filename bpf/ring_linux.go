package bpf

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// eventRingPages is the size of one CPU's ring in pages without the control
// page, a power of two: 512 KiB hold some 4,000 mappings, more than a CPU can
// make between two looks.
const eventRingPages = 128

// eventRing is the event and the ring of one CPU that tells of mappings,
// names, forks and exits.
type eventRing struct {
	fd      int
	mem     []byte
	control *unix.PerfEventMmapPage
	data    []byte
	scratch []byte // a record that wraps around the end of the ring
}

// perfBitKsymbol is ksymbol of struct perf_event_attr (kernel 5.1).
const perfBitKsymbol = 1 << 29

// openEventRing does not ask for build IDs. The kernel marks a record that
// carries one in a header that all listeners share and does not take the mark
// back (perf_event_mmap_output), so whoever records with perf beside us would
// get inodes marked as build IDs and could not read its own data.
func openEventRing(cpu int) (_ *eventRing, err error) {
	attr := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Clockid:     unix.CLOCK_MONOTONIC,
		Wakeup:      1, // a byte: the reader waits for anything, then lets more gather
		Bits: unix.PerfBitMmap | unix.PerfBitMmap2 | perfBitKsymbol |
			unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask |
			unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitWatermark,
	}
	fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, perfOpenError("open process events", cpu, err)
	}
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, (1+eventRingPages)*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("map the ring of process events of CPU %d: %w", cpu, err)
	}
	return &eventRing{
		fd:      fd,
		mem:     mem,
		control: (*unix.PerfEventMmapPage)(unsafe.Pointer(&mem[0])),
		data:    mem[page:],
	}, nil
}

// read calls visit for every record in the ring. The body is valid during the
// call only.
func (r *eventRing) read(visit func(kind uint32, misc uint16, body []byte)) {
	head := atomic.LoadUint64(&r.control.Data_head)
	tail := r.control.Data_tail // written by nobody but us
	for tail < head {
		header := r.bytes(tail, recordHeaderSize)
		kind := binary.NativeEndian.Uint32(header)
		misc := binary.NativeEndian.Uint16(header[4:])
		size := uint64(binary.NativeEndian.Uint16(header[6:]))
		if size < recordHeaderSize || size > head-tail {
			tail = head // the ring cannot be trusted: drop what is in it
			break
		}
		visit(kind, misc, r.bytes(tail+recordHeaderSize, int(size)-recordHeaderSize))
		tail += size
	}
	atomic.StoreUint64(&r.control.Data_tail, tail)
}

// pending tells whether there is something to read.
func (r *eventRing) pending() bool {
	return atomic.LoadUint64(&r.control.Data_head) != r.control.Data_tail
}

// bytes returns n bytes at a position that counts from the ring's beginning of
// time, joined if they wrap around.
func (r *eventRing) bytes(at uint64, n int) []byte {
	from := int(at % uint64(len(r.data)))
	if from+n <= len(r.data) {
		return r.data[from : from+n]
	}
	first := len(r.data) - from
	r.scratch = append(r.scratch[:0], r.data[from:]...)
	r.scratch = append(r.scratch, r.data[:n-first]...)
	return r.scratch
}

func (r *eventRing) close() {
	_ = unix.Munmap(r.mem)
	_ = unix.Close(r.fd)
}
