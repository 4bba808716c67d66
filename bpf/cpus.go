package bpf

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const onlineCPUsFile = "/sys/devices/system/cpu/online"

// maxCPU bounds what is believed of the kernel's list (NR_CPUS is 8192 at most).
const maxCPU = 1 << 13

// OnlineCPUList returns the kernel's list of the CPUs that are online now, such
// as "0-3". It costs some microseconds: compare it to see whether SyncCPUs has
// something to do.
func OnlineCPUList() (string, error) {
	text, err := os.ReadFile(onlineCPUsFile)
	if err != nil {
		return "", fmt.Errorf("list online CPUs: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// onlineCPUs reads the CPUs that are online now. They may have gaps, and may
// be fewer than the possible ones.
func onlineCPUs() ([]int, error) {
	text, err := OnlineCPUList()
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUList(text)
	if err != nil {
		return nil, fmt.Errorf("list online CPUs: %s: %w", onlineCPUsFile, err)
	}
	return cpus, nil
}

// parseCPUList reads a list such as "0-3,8,10-11" (Documentation/
// admin-guide/cputopology.rst).
func parseCPUList(list string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("bad CPU list %q", list)
		}
		to, err := strconv.Atoi(last)
		if err != nil || from < 0 || to < from || to >= maxCPU {
			return nil, fmt.Errorf("bad CPU list %q", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
