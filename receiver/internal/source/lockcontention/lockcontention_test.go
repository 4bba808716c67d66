//go:build linux

package lockcontention

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
)

func TestLocks(t *testing.T) {
	for want, detail := range map[string]uint64{
		"lock:mutex":             bpf.LockKernel | 1 | 32,
		"lock:spinlock":          bpf.LockKernel | 1,
		"lock:rwlock read":       bpf.LockKernel | 1 | 2,
		"lock:rwsem write":       bpf.LockKernel | 4,
		"lock:percpu_rwsem read": bpf.LockKernel | 16 | 2,
		"lock:rtmutex":           bpf.LockKernel | 8,
		"lock:semaphore":         bpf.LockKernel,
		"lock:futex wait":        bpf.OffCPUInCall | 202,
		"lock:futex wait_bitset": bpf.OffCPUInCall | 9<<bpf.LockFutexOpShift,
		"lock:futex op_5":        5 << bpf.LockFutexOpShift,
	} {
		d := describe(&bpf.Sample{Detail: detail})
		assert.Equal(t, want, d.Leaf[0].Lines[0].Name)
		assert.Equal(t, want, "lock:"+d.Labels[0].Text)
	}
	assert.Equal(t, source.Estimate{Events: 3, Sum: 7, Variance: 2 * 1024 * 1024}, estimate(&bpf.Sample{Count: 9, Sums: [3]uint64{7, 3, 2}}))
	assert.Equal(t, source.Estimate{Events: 9, Sum: 7}, estimate(&bpf.Sample{Detail: bpf.LockKernel, Count: 9, Sums: [3]uint64{7, 3, 2}}))
	assert.Equal(t, []int64{3, 7}, values(&bpf.Sample{Count: 9, Sums: [3]uint64{7, 3}}, nil))
	assert.Equal(t, []int64{9, 7}, values(&bpf.Sample{Detail: bpf.LockKernel, Count: 9, Sums: [3]uint64{7}}, nil))
}
