//go:build linux

package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// stat is what /proc/PID/stat tells (proc_pid_stat(5)).
type stat struct {
	comm    string
	parent  uint32 // process ID of the parent
	zombie  bool
	kernel  bool
	threads int
	ticks   uint64 // start, in clock ticks after boot
}

// nanosPerTick: USER_HZ, the unit of procfs, is 100 on every architecture that
// the programs run on.
const nanosPerTick uint64 = 1e9 / 100

// pfKthread is PF_KTHREAD of include/linux/sched.h.
const pfKthread = 0x00200000

// startLow and startHigh bound the start, CLOCK_BOOTTIME in nanoseconds.
func (s *stat) startLow() uint64  { return s.ticks * nanosPerTick }
func (s *stat) startHigh() uint64 { return s.ticks*nanosPerTick + nanosPerTick - 1 }

func (s *stat) startedAt(start uint64) bool {
	return s.startLow() <= start && start <= s.startHigh()
}

func readStat(procRoot string, pid uint32) (*stat, error) {
	text, err := os.ReadFile(filepath.Join(procRoot, strconv.FormatUint(uint64(pid), 10), "stat"))
	if err != nil {
		return nil, err
	}
	return parseStat(text)
}

// StartTicks is when a process started, CLOCK_BOOTTIME in hundredths of a
// second.
func StartTicks(procRoot string, pid uint32) (uint64, error) {
	st, err := readStat(procRoot, pid)
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return st.ticks, nil
}

// Runs tells whether a process that started at a time in ticks has not ended. One
// whose first thread has ended runs as long as another does; one that nobody has
// waited for has ended.
func Runs(procRoot string, pid uint32, ticks uint64) bool {
	st, err := readStat(procRoot, pid)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH)
	}
	return st.ticks == ticks && (!st.zombie || st.threads > 1)
}

// parseStat reads "pid (comm) state ppid ... flags ...". The name may hold
// anything, also spaces and parentheses, so the last ')' ends it.
func parseStat(text []byte) (*stat, error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return nil, fmt.Errorf("no process name in %q", text)
	}
	// Field 3, the state, is fields[0].
	fields := bytes.Fields(text[end+1:])
	const stateField, parentField, flagsField, threadsField, startField = 0, 4 - 3, 9 - 3, 20 - 3, 22 - 3
	if len(fields) <= startField {
		return nil, fmt.Errorf("too few fields in %q", text)
	}
	s := &stat{comm: string(text[open+1 : end])}
	s.zombie = bytes.ContainsAny(fields[stateField], "ZX")
	parent, err := strconv.ParseUint(string(fields[parentField]), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("parent: %w", err)
	}
	s.parent = uint32(parent)
	flags, err := strconv.ParseUint(string(fields[flagsField]), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("flags: %w", err)
	}
	s.kernel = flags&pfKthread != 0
	if s.threads, err = strconv.Atoi(string(fields[threadsField])); err != nil {
		return nil, fmt.Errorf("threads: %w", err)
	}
	if s.ticks, err = strconv.ParseUint(string(fields[startField]), 10, 64); err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	if s.ticks > 1<<62/nanosPerTick {
		return nil, fmt.Errorf("start of %d ticks is absurd", s.ticks)
	}
	return s, nil
}
