//go:build linux

package syscalls

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// switchable notes what is done to it.
type switchable struct {
	mu    sync.Mutex
	calls []string
}

func (s *switchable) Attach() error { s.note("attach"); return nil }
func (s *switchable) Detach()       { s.note("detach") }
func (s *switchable) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func TestTurns(t *testing.T) {
	var slept []time.Duration
	d := newDuty(0.2)
	d.sleep = func(d time.Duration, _ <-chan struct{}) bool {
		slept = append(slept, d)
		return len(slept) < 200
	}
	s := &switchable{}
	d.on()
	d.turns(s, nil)
	var on, off time.Duration
	for i, each := range slept {
		if i%2 == 0 {
			on += each
			assert.Equal(t, 50*time.Millisecond, each)
		} else {
			off += each
			assert.InDelta(t, 200*time.Millisecond, each, float64(100*time.Millisecond))
		}
	}
	assert.InDelta(t, 0.2, float64(on)/float64(on+off), 0.03)
	assert.Equal(t, []string{"detach", "attach"}, s.calls[:2])
}

// Values are scaled by the time that was really looked at.
func TestScale(t *testing.T) {
	now := time.Now()
	d := newDuty(0.5)
	d.began, d.ended, d.attached = now.Add(-10*time.Second), now, 2*time.Second
	assert.Equal(t, []int64{7, 50, 500}, d.scale([]int64{7, 10, 100}, 1))
	e := d.estimate(100)
	assert.InDelta(t, 500, e.Events, 1e-6)
	assert.InDelta(t, 500, e.Sum, 1e-6)
	assert.InDelta(t, math.Sqrt((1-0.2)/100), math.Sqrt(e.Variance)/e.Sum, 1e-9, "of 100 seen with a probability of 0.2")
	d.began, d.attached = now.Add(-time.Millisecond), 0
	assert.Equal(t, []int64{20}, d.scale([]int64{10}, 0), "too short to measure: the share that was asked for")
}
