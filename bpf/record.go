//go:build linux

package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Sizes and bits of perf records, from include/uapi/linux/perf_event.h.
const (
	recordHeaderSize = 8  // type u32, misc u16, size u16
	sampleIDSize     = 16 // pid, tid u32, time u64, as asked for in sample_type

	miscCommExec = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
)

var errShortRecord = errors.New("perf record is too short")

// parseRecord decodes the body of a record. Records of types that we did not
// ask for give a zero Event without error.
func parseRecord(kind uint32, misc uint16, body []byte) (Event, error) {
	ev := Event{}
	if kind == unix.PERF_RECORD_KSYMBOL {
		body = trimKsymbol(body)
	}
	if len(body) < sampleIDSize {
		return ev, errShortRecord
	}
	ev.Nanos = binary.NativeEndian.Uint64(body[len(body)-8:])
	body = body[:len(body)-sampleIDSize]
	var err error
	switch kind {
	case unix.PERF_RECORD_MMAP2:
		err = parseMmap2(&ev, body)
	case unix.PERF_RECORD_COMM:
		err = parseComm(&ev, misc, body)
	case unix.PERF_RECORD_FORK:
		err = parseTask(&ev, EventFork, body)
	case unix.PERF_RECORD_EXIT:
		err = parseTask(&ev, EventExit, body)
	case unix.PERF_RECORD_LOST:
		err = parseLost(&ev, body)
	case unix.PERF_RECORD_KSYMBOL:
		err = parseKsymbol(&ev, body)
	}
	if err != nil {
		return Event{}, fmt.Errorf("record of type %d: %w", kind, err)
	}
	return ev, nil
}

// parseMmap2 reads struct { u32 pid, tid; u64 addr, len, pgoff; u32 maj, min;
// u64 ino, ino_generation; u32 prot, flags; char filename[] }. The mark that a
// build ID stands in place of the inode is ignored: see openEventRing, it may
// be that of another listener.
func parseMmap2(ev *Event, body []byte) error {
	const fixed = 64
	if len(body) < fixed {
		return errShortRecord
	}
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	ev.Kind = EventMmap
	ev.PID, ev.TID = u32(body), u32(body[4:])
	ev.Start, ev.Length, ev.Offset = u64(body[8:]), u64(body[16:]), u64(body[24:])
	ev.Dev = unix.Mkdev(u32(body[32:]), u32(body[36:]))
	ev.Inode = u64(body[40:])
	ev.Path = cString(body[fixed:])
	return nil
}

func parseComm(ev *Event, misc uint16, body []byte) error {
	if len(body) < 8 {
		return errShortRecord
	}
	ev.Kind = EventComm
	ev.PID, ev.TID = binary.NativeEndian.Uint32(body), binary.NativeEndian.Uint32(body[4:])
	ev.Exec = misc&miscCommExec != 0
	ev.Comm = cString(body[8:])
	return nil
}

// parseTask reads struct { u32 pid, ppid, tid, ptid; u64 time }.
func parseTask(ev *Event, kind EventKind, body []byte) error {
	if len(body) < 24 {
		return errShortRecord
	}
	ev.Kind = kind
	ev.PID, ev.ParentPID = binary.NativeEndian.Uint32(body), binary.NativeEndian.Uint32(body[4:])
	ev.TID = binary.NativeEndian.Uint32(body[8:])
	return nil
}

// parseLost reads struct { u64 id, lost }.
func parseLost(ev *Event, body []byte) error {
	if len(body) < 16 {
		return errShortRecord
	}
	ev.Kind = EventLost
	ev.Lost = binary.NativeEndian.Uint64(body[8:])
	return nil
}

// trimKsymbol takes what lies beyond the sample ID off the body of such a record.
// perf_event_ksymbol_output makes it longer by one ID for each listener that the
// kernel wrote to before, and fills that with whatever was there.
func trimKsymbol(body []byte) []byte {
	const fixed = 16
	if len(body) < fixed {
		return body
	}
	end := bytes.IndexByte(body[fixed:], 0)
	if end < 0 {
		return body
	}
	name := (end + 8) &^ 7 // up to whole words, the zero among them
	return body[:min(len(body), fixed+name+sampleIDSize)]
}

// parseKsymbol reads struct { u64 addr; u32 len; u16 ksym_type, flags; char
// name[] }.
func parseKsymbol(ev *Event, body []byte) error {
	const fixed, unregister = 16, 1 // PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER
	if len(body) < fixed {
		return errShortRecord
	}
	ev.Kind = EventSymbol
	ev.Start = binary.NativeEndian.Uint64(body)
	ev.Length = uint64(binary.NativeEndian.Uint32(body[8:]))
	ev.Gone = binary.NativeEndian.Uint16(body[14:])&unregister != 0
	ev.Comm = cString(body[fixed:])
	return nil
}

func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}
