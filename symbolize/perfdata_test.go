package symbolize

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// The parts of the perf.data format that follow are from tools/perf/util/header.h
// (struct perf_file_header, perf_file_attr) and include/uapi/linux/perf_event.h.
const (
	perfFileHeaderSize = 104
	perfAttrSize       = 64 // PERF_ATTR_SIZE_VER0
	perfSampleIPTID    = 1<<0 | 1<<1
	perfRecordMmap     = 1
	perfRecordSample   = 9
	perfMiscUser       = 2
	perfMaxPID         = 1 << 22 // no process has it, so perf asks no live one
)

// perfData writes a recording in which one process maps the code of a file at
// its file addresses and was sampled at these: perf script then says what it
// makes of each.
func perfData(t testing.TB, file string, ats []addr.File) string {
	t.Helper()
	file, err := filepath.Abs(file)
	require.NoError(t, err)
	var data bytes.Buffer
	put := func(fields ...any) {
		for _, f := range fields {
			require.NoError(t, binary.Write(&data, binary.LittleEndian, f))
		}
	}
	pid := uint32(perfMaxPID)
	name := make([]byte, (len(file)+8)&^7) // with its NUL
	copy(name, file)
	for _, code := range codeOf(t, file) {
		start := code.Vaddr &^ 0xfff
		put(uint32(perfRecordMmap), uint16(perfMiscUser), uint16(8+8+24+len(name)), pid, pid,
			start, (code.Vaddr+code.Filesz+0xfff)&^0xfff-start, code.Off&^0xfff, name)
	}
	for _, at := range ats {
		put(uint32(perfRecordSample), uint16(perfMiscUser), uint16(8+8+8), uint64(at), pid, pid)
	}
	body := bytes.Clone(data.Bytes())
	data.Reset()

	const attrs, ids = perfFileHeaderSize, 16
	put([]byte("PERFILE2"), uint64(perfFileHeaderSize), uint64(perfAttrSize+ids),
		uint64(attrs), uint64(perfAttrSize+ids), // where attributes are
		uint64(attrs+perfAttrSize+ids), uint64(len(body)), // where records are
		[2]uint64{}, [4]uint64{}) // no event types, no features
	put(uint32(1), uint32(perfAttrSize), // PERF_TYPE_SOFTWARE
		uint64(0), uint64(1), uint64(perfSampleIPTID), uint64(0), uint64(0), // PERF_COUNT_SW_CPU_CLOCK
		[2]uint64{}, // wake-up, breakpoints
		[2]uint64{}) // the identifiers of this attribute
	path := filepath.Join(t.TempDir(), "perf.data")
	require.NoError(t, os.WriteFile(path, append(data.Bytes(), body...), 0o600))
	return path
}

// codeOf returns the executable segments of a file.
func codeOf(t testing.TB, file string) (code []*elf.Prog) {
	t.Helper()
	f, err := elf.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			code = append(code, p)
		}
	}
	return code
}

var perfSample = regexp.MustCompile(`^\s*([0-9a-f]+) (.*) \((.*)\)$`)

// perfNames returns the names that perf gives the addresses of a file, "" where
// it has none, and the CPU time that this took.
func perfNames(t testing.TB, file string, ats []addr.File) ([]string, time.Duration) {
	t.Helper()
	cmd := exec.Command("perf", "script", "-i", perfData(t, file, ats), "-F", "ip,sym,dso", "--no-demangle")
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=") // it asks servers otherwise
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &errs)
	names := make([]string, 0, len(ats))
	for line := range strings.Lines(string(out)) {
		m := perfSample.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		at, err := strconv.ParseUint(m[1], 16, 64)
		require.NoError(t, err)
		require.Equal(t, uint64(ats[len(names)]), at)
		names = append(names, strings.TrimSuffix(m[2], "[unknown]"))
	}
	require.Len(t, names, len(ats))
	return names, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
