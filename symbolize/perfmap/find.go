package perfmap

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// ErrNone tells that a process has no perf map, as most have none.
var ErrNone = errors.New("no perf map")

// Refusal is an error that tells why a perf map that exists is not read.
type Refusal string

// The refusals; their text is what counters are named by.
const (
	RefusedNotRegular Refusal = "not_a_regular_file"
	RefusedOwner      Refusal = "foreign_owner"
	RefusedOlder      Refusal = "older_than_process"
	RefusedDenied     Refusal = "permission_denied"
)

func (r Refusal) Error() string { return "perf map refused: " + string(r) }

// status is what /proc/PID/status tells about who may write a map for a
// process, and under which name.
type status struct {
	uids []uint32 // real, effective, saved, file system
	pids []int    // innermost PID namespace first
}

func parseStatus(text []byte) (s status) {
	for line := range bytes.Lines(text) {
		key, values, _ := strings.Cut(string(line), ":")
		switch key {
		case "Uid":
			for _, f := range strings.Fields(values) {
				if v, err := strconv.ParseUint(f, 10, 32); err == nil {
					s.uids = append(s.uids, uint32(v))
				}
			}
		case "NSpid":
			for _, f := range strings.Fields(values) {
				if v, err := strconv.Atoi(f); err == nil {
					s.pids = append([]int{v}, s.pids...)
				}
			}
		}
	}
	return s
}

// fileNames returns the names of a process's map in its /tmp, in the order in which they
// are tried: by the PID that the process knows itself by, then by the one that
// the profiler knows.
func (s *status) fileNames(pid int) []string {
	outer := "perf-" + strconv.Itoa(pid) + ".map"
	if len(s.pids) == 0 || s.pids[0] == pid {
		return []string{outer}
	}
	return []string{"perf-" + strconv.Itoa(s.pids[0]) + ".map", outer}
}

// parseStartTicks returns when a process started, in clock ticks since boot:
// field 22 of /proc/PID/stat, counted after the command in parentheses, which
// may hold any characters.
func parseStartTicks(stat []byte) (ticks uint64, ok bool) {
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const field = 22 - 3
	if len(fields) <= field {
		return 0, false
	}
	ticks, err := strconv.ParseUint(fields[field], 10, 64)
	return ticks, err == nil
}
