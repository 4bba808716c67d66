//go:build integration && linux

package bpf

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// innerRanges finds the functions of InnerAllocators.
func innerRanges(t *testing.T) (ranges []Range) {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	require.NoError(t, err)
	defer f.Close()
	var open string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		at, err := strconv.ParseUint(fields[0], 16, 64)
		require.NoError(t, err)
		if open != "" && at > ranges[len(ranges)-1].Start {
			ranges[len(ranges)-1].End, open = at, ""
		}
		for _, name := range InnerAllocators {
			if fields[2] == name && len(fields) == 3 {
				ranges, open = append(ranges, Range{Start: at}), name
			}
		}
	}
	require.NotEmpty(t, ranges)
	return ranges
}

func TestKernelAllocationsAreExact(t *testing.T) {
	inner := innerRanges(t)
	for name, interval := range map[string]time.Duration{"every stack": 0, "some stacks": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			f := startFixture(t, "allocs")
			tr := tracer(t, KernelAllocations(AllocationOptions{MinBytes: 8192, LookInterval: interval, Inner: inner}), f.pid())
			syscallsOf(t, tr, f.pid())
			want := f.do(t)
			list, _ := syscallsOf(t, tr, f.pid())
			var kmalloc Sample
			var pages uint64
			for _, s := range list {
				if s.Flags&Total == 0 {
					require.NotEmpty(t, s.User)
					require.NotEmpty(t, s.Kernel)
				}
				if s.Flags&Selected != 0 {
					continue
				}
				switch s.Detail & AllocationMask {
				case AllocationKmalloc:
					kmalloc.Count += s.Count
					kmalloc.Sums[0] += s.Sums[0]
					kmalloc.Sums[1] += s.Sums[1]
				case AllocationPages:
					pages += s.Count
				}
			}
			require.Equal(t, want, kmalloc.Count)
			require.Equal(t, 1000*uint64(10240), kmalloc.Sums[1], "bytes asked")
			require.Equal(t, 1000*uint64(16384), kmalloc.Sums[0], "bytes given")
			require.Less(t, pages, uint64(20), "the pages of a kmalloc are counted once")
		})
	}
}
