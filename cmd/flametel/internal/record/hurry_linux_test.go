package record

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// niceOfThreads is how many threads of the test have each value of nice.
func niceOfThreads(t *testing.T) map[int]int {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	count := make(map[int]int)
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		if raw, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil {
			count[20-raw]++
		}
	}
	return count
}

func TestHurryIsTakenBack(t *testing.T) {
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	require.NoError(t, err)
	usual := 20 - raw
	back := hurry()
	hurried := niceOfThreads(t)
	back()
	assert.Len(t, niceOfThreads(t), 1)
	assert.Contains(t, niceOfThreads(t), usual)
	if unix.Setpriority(unix.PRIO_PROCESS, 0, usual-1) != nil {
		return // without the right to it, as it was
	}
	setNice(usual)
	assert.Len(t, hurried, 1)
	assert.Contains(t, hurried, max(usual-haste, -20))
}
