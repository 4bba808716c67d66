//go:build integration && linux

package syscalls

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
)

// What is counted in a part of the time stands for all of it, and the source
// says which part that was.
func TestShareOfTheTime(t *testing.T) {
	s := New(bpf.SyscallOptions{Numbers: []uint32{unix.SYS_GETPPID}, LookInterval: time.Millisecond}, 0.25, bpf.Options{DrainInterval: time.Second})
	require.NoError(t, s.Start())
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, _, err := s.Drain()
	require.NoError(t, err)
	made, estimated, seen := 0, int64(0), uint64(0)
	var share float64
	for began := time.Now(); time.Since(began) < 8*time.Second; {
		for drain := time.Now(); time.Since(drain) < time.Second; made++ {
			unix.Getppid()
			time.Sleep(50 * time.Microsecond)
		}
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		share = stats.Share
		for i := range samples {
			if int(samples[i].PID) == os.Getpid() {
				seen += samples[i].Count
				estimated += s.Values(&samples[i], nil)[0]
			}
		}
	}
	assert.Less(t, seen, uint64(made)*2/3, "most calls are not looked at")
	assert.InDelta(t, 0.25, share, 0.15)
	assert.InEpsilon(t, made, estimated, 0.35)
}
