package target

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	assert.NoError(t, Check(os.Getpid()))
	assert.EqualError(t, Check(4194304), "process 4194304 does not exist")
	threads, err := filepath.Glob("/proc/self/task/*")
	require.NoError(t, err)
	own := strconv.Itoa(os.Getpid())
	for _, path := range threads {
		tid, err := strconv.Atoi(filepath.Base(path))
		require.NoError(t, err)
		if err := Check(tid); tid != os.Getpid() && err != nil { // the thread may have ended
			assert.Contains(t, []string{
				filepath.Base(path) + " is a thread of process " + own + "; use --pid " + own,
				"process " + filepath.Base(path) + " does not exist",
			}, err.Error())
		}
	}
}
