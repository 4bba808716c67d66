package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
)

// slotsOf counts times as the kernel does.
func slotsOf(times ...time.Duration) (slots []uint64, sum time.Duration) {
	slots = make([]uint64, 128)
	for _, d := range times {
		i := 0
		for i < len(slots)-1 && bpf.SlotStart(i+1) <= d {
			i++
		}
		slots[i]++
		sum += d
	}
	return slots, sum
}

func TestP99(t *testing.T) {
	t.Parallel()
	slots, sum := slotsOf(999 * time.Millisecond)
	assert.Equal(t, sum, p99(slots, sum), "of one call")
	slots, sum = slotsOf(2880, 2890, 2870)
	assert.GreaterOrEqual(t, p99(slots, sum), sum/3, "not below the mean of calls that are about equal")
	assert.Less(t, p99(slots, sum), bpf.SlotStart(26))
	var times []time.Duration
	for i := range 1000 {
		times = append(times, time.Duration(1000+i))
	}
	slots, sum = slotsOf(times...)
	assert.InEpsilon(t, 1990, p99(slots, sum), 0.05)
	slots, sum = slotsOf(append(times, time.Hour)...)
	assert.InEpsilon(t, 1990, p99(slots, sum), 0.05, "one of a thousand")
	assert.Zero(t, p99(make([]uint64, 128), 0))
}
