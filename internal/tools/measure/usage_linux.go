package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is USER_HZ, the unit of times in /proc/PID/stat: 100 on every
// architecture that Go runs on.
const ticksPerSecond = 100

// CPU returns the user and system time that a process has used, its threads
// included, its children not.
func CPU(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name, field 2, is in brackets and may hold anything. utime and stime
	// are fields 14 and 15 (proc_pid_stat(5)).
	_, rest, found := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')'):]), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 13 {
		return 0, errors.New("/proc/PID/stat is too short")
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * time.Second / ticksPerSecond, nil
}

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) (int64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, errors.New("/proc/PID/statm is too short")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// Usage is what a process used over a stretch of time.
type Usage struct {
	CPU, Elapsed        time.Duration
	MeanBytes, MaxBytes int64
}

// CPUPercent is the CPU time in per cent of one CPU.
func (u Usage) CPUPercent() float64 {
	return 100 * u.CPU.Seconds() / u.Elapsed.Seconds()
}

// Watch looks at a process twice a second until ctx ends.
func Watch(ctx context.Context, pid int) (Usage, error) {
	begin := time.Now()
	first, err := CPU(pid)
	if err != nil {
		return Usage{}, err
	}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var u Usage
	var sum, n int64
	for {
		resident, err := Resident(pid)
		if err != nil {
			return Usage{}, err
		}
		sum, n, u.MaxBytes = sum+resident, n+1, max(u.MaxBytes, resident)
		select {
		case <-ctx.Done():
			last, err := CPU(pid)
			u.CPU, u.Elapsed, u.MeanBytes = last-first, time.Since(begin), sum/n
			return u, err
		case <-tick.C:
		}
	}
}
