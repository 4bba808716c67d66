//go:build linux

package bpf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// record puts the body of a perf record together; a sample ID follows.
func record(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch v := p.(type) {
		case uint32:
			b = binary.NativeEndian.AppendUint32(b, v)
		case uint64:
			b = binary.NativeEndian.AppendUint64(b, v)
		case string:
			b = append(b, v...)
			b = append(b, make([]byte, 8-len(v)%8)...)
		case []byte:
			b = append(b, v...)
		}
	}
	b = binary.NativeEndian.AppendUint64(b, 0)
	return binary.NativeEndian.AppendUint64(b, 12345)
}

func mmapBody(path string) []byte {
	return record(uint32(7), uint32(8), uint64(0x1000), uint64(0x2000), uint64(0x3000),
		uint32(8), uint32(1), uint64(42), uint64(0), uint32(5), uint32(2), path)
}

func TestParseRecord(t *testing.T) {
	ev, err := parseRecord(unix.PERF_RECORD_MMAP2, 0, mmapBody("/bin/x y"))
	require.NoError(t, err)
	want := Event{
		Kind: EventMmap, Nanos: 12345, PID: 7, TID: 8, Start: 0x1000, Length: 0x2000, Offset: 0x3000,
		Dev: unix.Mkdev(8, 1), Inode: 42, Path: "/bin/x y",
	}
	require.Equal(t, want, ev)
	const markOfAnotherListener = 1 << 14 // PERF_RECORD_MISC_MMAP_BUILD_ID
	ev, err = parseRecord(unix.PERF_RECORD_MMAP2, markOfAnotherListener, mmapBody("/bin/x y"))
	require.NoError(t, err)
	require.Equal(t, want, ev)

	ev, err = parseRecord(unix.PERF_RECORD_COMM, miscCommExec, record(uint32(3), uint32(4), "a;\xffb"))
	require.NoError(t, err)
	require.Equal(t, Event{Kind: EventComm, Nanos: 12345, PID: 3, TID: 4, Exec: true, Comm: "a;\xffb"}, ev)

	ev, err = parseRecord(unix.PERF_RECORD_FORK, 0, record(uint32(10), uint32(9), uint32(10), uint32(9), uint64(1)))
	require.NoError(t, err)
	require.Equal(t, Event{Kind: EventFork, Nanos: 12345, PID: 10, TID: 10, ParentPID: 9}, ev)

	for _, name := range []string{"bpf_prog", "bpf_prog_x", "bpf_prog_longer"} {
		body := record(uint64(0xffffffffc0001000), uint32(0x80), []byte{1, 0, 1, 0}, name)
		for range 3 { // listeners that were told before
			ev, err = parseRecord(unix.PERF_RECORD_KSYMBOL, 0, body)
			require.NoError(t, err)
			require.Equal(t, Event{Kind: EventSymbol, Nanos: 12345, Start: 0xffffffffc0001000, Length: 0x80, Gone: true, Comm: name}, ev)
			body = append(body, make([]byte, sampleIDSize)...)
		}
	}

	ev, err = parseRecord(unix.PERF_RECORD_LOST, 0, record(uint64(1), uint64(99)))
	require.NoError(t, err)
	require.EqualValues(t, 99, ev.Lost)

	ev, err = parseRecord(unix.PERF_RECORD_THROTTLE, 0, record(uint64(1)))
	require.NoError(t, err)
	require.Zero(t, ev.Kind)
}

func TestParseRecordTooShort(t *testing.T) {
	for _, kind := range []uint32{unix.PERF_RECORD_MMAP2, unix.PERF_RECORD_COMM, unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT, unix.PERF_RECORD_LOST, unix.PERF_RECORD_KSYMBOL} {
		_, err := parseRecord(kind, 0, record(uint32(1)))
		require.ErrorIs(t, err, errShortRecord)
		_, err = parseRecord(kind, 0, []byte{1})
		require.ErrorIs(t, err, errShortRecord)
	}
}

func FuzzParseRecord(f *testing.F) {
	f.Add(uint32(unix.PERF_RECORD_MMAP2), uint16(0), mmapBody("//anon"))
	f.Add(uint32(unix.PERF_RECORD_KSYMBOL), uint16(0), record(uint64(1), uint32(2), []byte{1, 0, 0, 0}, "name"))
	f.Add(uint32(unix.PERF_RECORD_COMM), uint16(0), record(uint32(3), uint32(4), "name"))
	f.Fuzz(func(t *testing.T, kind uint32, misc uint16, body []byte) {
		ev, err := parseRecord(kind, misc, body)
		require.True(t, err == nil || ev.Kind == 0)
	})
}
