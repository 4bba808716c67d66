package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// Tables are the unwind tables in the kernel, which all programs share: a pool
// of rows, a pool of mappings, and by process where its mappings are. Whoever
// owns them decides what lies where; see package unwind for the rows. Methods
// may be called from several goroutines.
type Tables struct {
	rows, mappings, spaces, requests *ebpf.Map
	reader                           *ringbuf.Reader
	waiter                           *waiter          // for requests
	mapped                           []byte           // mappings, which each new program writes to
	exec                             *ebpf.Collection // nil unless followed
	attached                         link.Link

	closing sync.Once
	closed  error
}

// Sizes of the pools, in elements.
const (
	rowBytes     = 8
	mappingBytes = 32
	minRows      = 1 << 15
	maxRows      = 1 << 24 // FT_MAX_SEARCH of tables.h
)

// NewTables makes tables with room for rows of 8 bytes and mappings of 32
// bytes, both rounded up to powers of two. The kernel takes the memory at
// once. Kernels that refuse so large a value get a smaller pool of rows: see
// Rows. It fails with a *PrivilegeError when the kernel refuses for lack of
// privileges.
func NewTables(rows, mappings int) (_ *Tables, err error) {
	spec, err := loadProfile()
	if err != nil {
		return nil, err
	}
	t := &Tables{}
	defer func() {
		if err != nil {
			_ = t.Close()
			err = loadError("unwind tables", err)
		}
	}()
	size := roundUp(min(max(rows, minRows), maxRows))
	for ; ; size /= 2 {
		spec.Maps[profileMapUnwindRows].ValueSize = uint32(size) * rowBytes
		t.rows, err = ebpf.NewMap(spec.Maps[profileMapUnwindRows])
		// Before 5.18 a value has 4 MB at most.
		if err == nil || !errors.Is(err, unix.E2BIG) || size == minRows {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	spec.Maps[profileMapUnwindMappings].ValueSize = uint32(roundUp(mappings)) * mappingBytes
	if t.mappings, err = ebpf.NewMap(spec.Maps[profileMapUnwindMappings]); err != nil {
		return nil, err
	}
	if t.mapped, err = unix.Mmap(t.mappings.FD(), 0, int(t.mappings.ValueSize()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map an unwind table: %w", err)
	}
	if t.spaces, err = ebpf.NewMap(spec.Maps[profileMapUnwindSpaces]); err != nil {
		return nil, err
	}
	if t.requests, err = ebpf.NewMap(spec.Maps[profileMapUnwindRequests]); err != nil {
		return nil, err
	}
	if t.reader, err = ringbuf.NewReader(t.requests); err != nil {
		return nil, err
	}
	t.reader.SetDeadline(time.Unix(0, 1)) // it never waits: the waiter does
	fd, err := unix.FcntlInt(uintptr(t.requests.FD()), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	t.waiter, err = newWaiter(fd)
	return t, err
}

// FollowExecs makes every program that begins ask for its tables at once, and
// not when it is first sampled.
func (t *Tables) FollowExecs() (err error) {
	spec, err := loadUnwind()
	if err != nil {
		return err
	}
	rows, mappings := t.size()
	err = setAll(spec, map[string]any{profileVarRowMask: rows - 1, profileVarMappingMask: mappings - 1})
	if err != nil {
		return err
	}
	opts := ebpf.CollectionOptions{MapReplacements: t.use(spec)}
	if t.exec, err = ebpf.NewCollectionWithOptions(spec, opts); err != nil {
		delete(spec.Programs, unwindProgUnwindThreads) // before 5.8: see Running
		t.exec, err = ebpf.NewCollectionWithOptions(spec, opts)
	}
	if err != nil {
		return loadError("unwind", err)
	}
	t.attached, err = link.AttachRawTracepoint(link.RawTracepointOptions{
		Name: "sched_process_exec", Program: t.exec.Programs[unwindProgUnwindExec],
	})
	if err != nil {
		return loadError("unwind", err)
	}
	return nil
}

func roundUp(n int) int { return 1 << bits.Len(uint(max(n, 2)-1)) }

// Rows is how many rows there is room for, Mappings how many mappings.
func (t *Tables) Rows() int     { return int(t.rows.ValueSize()) / rowBytes }
func (t *Tables) Mappings() int { return int(t.mappings.ValueSize()) / mappingBytes }

// size is how large the pools of a collection are, whose t may be nil.
func (t *Tables) size() (rows, mappings uint32) {
	if t == nil {
		return 2, 2 // as tables.h has them
	}
	return uint32(t.Rows()), uint32(t.Mappings())
}

// use fits a collection to the tables, or to none if t is nil, and returns the
// maps to take for its own.
func (t *Tables) use(spec *ebpf.CollectionSpec) map[string]*ebpf.Map {
	if t == nil {
		spec.Maps[profileMapUnwindSpaces].MaxEntries = 1
		spec.Maps[profileMapUnwindRequests].MaxEntries = uint32(os.Getpagesize())
		return nil
	}
	spec.Maps[profileMapUnwindRows].ValueSize = t.rows.ValueSize()
	spec.Maps[profileMapUnwindMappings].ValueSize = t.mappings.ValueSize()
	return map[string]*ebpf.Map{
		profileMapUnwindRows:     t.rows,
		profileMapUnwindMappings: t.mappings,
		profileMapUnwindSpaces:   t.spaces,
		profileMapUnwindRequests: t.requests,
	}
}

// Mapping is a range of a process that is mapped from one file.
type Mapping struct {
	Start, Limit uint64 // virtual addresses
	// Base is the virtual address of a row whose PC is 0.
	Base uint64
	// First and Count are the file's rows in the pool. None are loaded if
	// Count is 0; First is 0 then if the file has none.
	First, Count uint32
}

// Space says where the mappings of a process are, for one program image: after
// an exec, or for a later process with the PID, the entry is not used.
type Space struct {
	SpaceRequest
	First, Count uint32 // in the pool of mappings
}

// SpaceRequest names the program image of a process that was sampled and has
// no entry yet.
type SpaceRequest struct {
	PID        uint32
	StartNanos uint64 // CLOCK_BOOTTIME
	ExecID     uint64 // the kernel's self_exec_id
}

// TableRequest is what programs ask for.
type TableRequest struct {
	SpaceRequest
	// Address is 0 if the process has no entry; else that of code in a mapping
	// without rows, for want of which a walk ended.
	Address uint64
}

// WriteRows copies rows, 8 bytes each, to a place in the pool.
func (t *Tables) WriteRows(at int, rows []byte) error {
	return write(t.rows, at*rowBytes, rows)
}

// WriteMappings copies mappings, sorted by address, to a place in the pool. It must
// not be called after Close.
func (t *Tables) WriteMappings(at int, list []Mapping) error {
	if len(list) == 0 {
		return nil
	}
	at *= mappingBytes
	b := unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*mappingBytes)
	if at < 0 || at+len(b) > len(t.mapped) {
		return tooLong(len(b), at, len(t.mapped))
	}
	copy(t.mapped[at:], b)
	return nil
}

func tooLong(n, at, size int) error {
	return fmt.Errorf("write %d bytes at %d of a table of %d", n, at, size)
}

// write copies bytes into the value of an array of one. Only the pages that it
// needs are mapped, and only for that long: they would count as our memory.
func write(m *ebpf.Map, at int, b []byte) error {
	if at < 0 || at+len(b) > int(m.ValueSize()) {
		return tooLong(len(b), at, int(m.ValueSize()))
	}
	if len(b) == 0 {
		return nil
	}
	in := at % os.Getpagesize()
	mem, err := unix.Mmap(m.FD(), int64(at-in), in+len(b), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("map an unwind table: %w", err)
	}
	copy(mem[in:], b)
	return unix.Munmap(mem)
}

// SetSpace makes the mappings of a process the ones that its stacks are walked
// with.
func (t *Tables) SetSpace(s Space) error {
	value := profileFtSpace{StartNs: s.StartNanos, ExecId: s.ExecID, First: s.First, Count: s.Count}
	value.Check = uint32(value.StartNs) ^ uint32(value.ExecId) ^ value.First*0x9e3779b1 ^ value.Count*0x85ebca6b
	if err := t.spaces.Put(s.PID, &value); err != nil {
		return fmt.Errorf("set the unwind table of process %d: %w", s.PID, err)
	}
	return nil
}

// DeleteSpace forgets a process.
func (t *Tables) DeleteSpace(pid uint32) error {
	if err := t.spaces.Delete(pid); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("delete the unwind table of process %d: %w", pid, err)
	}
	return nil
}

// Wait returns when no program uses any more what was replaced before.
func (t *Tables) Wait() { waitForPrograms() }

// Requests calls handle for what programs ask for, until Interrupt or Close.
func (t *Tables) Requests(handle func(TableRequest)) error {
	for {
		err := t.waiter.wait(func() bool { return t.reader.AvailableBytes() > 0 })
		if err == nil {
			err = t.readRequests(handle)
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrClosed):
			return nil
		default:
			return fmt.Errorf("read requests for unwind tables: %w", err)
		}
	}
}

// readRequests calls handle for what is there.
func (t *Tables) readRequests(handle func(TableRequest)) error {
	var rec ringbuf.Record
	for {
		err := t.reader.ReadInto(&rec)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		if b := rec.RawSample; len(b) >= 32 { // struct ft_request
			handle(TableRequest{
				SpaceRequest: SpaceRequest{
					StartNanos: binary.NativeEndian.Uint64(b),
					ExecID:     binary.NativeEndian.Uint64(b[8:]),
					PID:        binary.NativeEndian.Uint32(b[24:]),
				},
				Address: binary.NativeEndian.Uint64(b[16:]),
			})
		}
	}
}

// Interrupt ends Requests; all else goes on until Close.
func (t *Tables) Interrupt() error {
	t.waiter.close()
	return t.reader.Close()
}

// Close ends Requests and gives the memory back once no program is left that
// uses it. It may be called more than once.
func (t *Tables) Close() error {
	t.closing.Do(func() {
		if t.waiter != nil {
			t.waiter.close()
		}
		if t.reader != nil {
			t.closed = t.reader.Close()
		}
		if t.attached != nil {
			t.closed = errors.Join(t.closed, t.attached.Close())
		}
		if t.exec != nil {
			t.exec.Close()
		}
		if t.mapped != nil {
			t.closed = errors.Join(t.closed, unix.Munmap(t.mapped))
			t.mapped = nil
		}
		for _, m := range []*ebpf.Map{t.rows, t.mappings, t.spaces, t.requests} {
			t.closed = errors.Join(t.closed, m.Close()) // nil maps may be closed
		}
	})
	return t.closed
}
