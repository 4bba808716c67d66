//go:build integration && linux

package syscalls

import (
	"math"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
)

// What is counted in a part of the time stands for all of it, and the source
// says which part that was. On a busy machine neither goroutine runs when it
// should: that evens out in time, what is scaled wrongly does not.
func TestShareOfTheTime(t *testing.T) {
	s := New(bpf.SyscallOptions{Numbers: []uint32{unix.SYS_GETPPID}, LookInterval: time.Millisecond}, 0.25, bpf.Options{DrainInterval: time.Second})
	require.NoError(t, s.Start())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, _, err := s.Drain()
	require.NoError(t, err)
	made, estimated, seen := 0, int64(0), uint64(0)
	var shares, drains float64
	near := func() bool { return math.Abs(float64(estimated)/float64(made)-1) <= 0.35 }
	for began := time.Now(); time.Since(began) < 8*time.Second || !near() && time.Since(began) < 2*time.Minute; {
		for drain := time.Now(); time.Since(drain) < time.Second; made++ {
			unix.Getppid()
			time.Sleep(50 * time.Microsecond)
		}
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		shares, drains = shares+stats.Share, drains+1
		for i := range samples {
			if int(samples[i].PID) == os.Getpid() {
				seen += samples[i].Count
				estimated += s.Values(&samples[i], nil)[0]
			}
		}
	}
	assert.Less(t, seen, uint64(made)*2/3, "most calls are not looked at")
	// A pause is three times as long as a look, and both last longer if the end of
	// each is late: however late that is, looks take less than half of the time.
	assert.Greater(t, shares/drains, 0.1)
	assert.Less(t, shares/drains, 0.5)
	assert.True(t, near(), "%d of %d calls seen, which stood for %d", seen, made, estimated)
}
