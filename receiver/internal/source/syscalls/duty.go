//go:build linux

package syscalls

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
)

// period is how often the programs are attached and detached. A drain interval
// has several as a rule, so that each sees its share.
const period = 250 * time.Millisecond

// duty attaches the programs for a share of the time. What they count stands
// for the whole of it.
type duty struct {
	share float64
	sleep func(d time.Duration, stop <-chan struct{}) bool

	mu       sync.Mutex
	began    time.Time
	ended    time.Time // zero before
	since    time.Time // attached since, zero if not
	attached time.Duration
}

func newDuty(share float64) *duty { return &duty{share: share, sleep: sleep} }

// sleep returns false when stop was closed meanwhile.
func sleep(d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}

// attacher is the part of a Tracer that duty needs.
type attacher interface {
	Attach() error
	Detach()
}

// run takes turns in the background until the function that it returns is called.
func (d *duty) run(t *bpf.Tracer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	d.on()
	go func() {
		defer close(ended)
		d.turns(t, done)
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		d.off()
		d.mu.Lock()
		d.ended = time.Now()
		d.mu.Unlock()
	})
}

// turns begins attached. The time without is of random length, so that it does
// not run in step with what programs do.
func (d *duty) turns(t attacher, stop <-chan struct{}) {
	on := time.Duration(d.share * float64(period))
	for d.sleep(on, stop) {
		t.Detach()
		d.off()
		off := float64(period-on) * (0.5 + rand.Float64())
		if !d.sleep(time.Duration(off), stop) {
			return
		}
		if t.Attach() == nil { // else the next turn tries again
			d.on()
		}
	}
}

func (d *duty) on() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.since = time.Now()
	if d.began.IsZero() {
		d.began = d.since
	}
}

func (d *duty) off() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.since.IsZero() {
		d.attached += time.Since(d.since)
		d.since = time.Time{}
	}
}

// factor is how much of the time each moment stands for that calls were looked
// at in.
func (d *duty) factor() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.ended
	if now.IsZero() {
		now = time.Now()
	}
	if now.Sub(d.began) < 4*period {
		return 1 / d.share // too little to measure
	}
	attached := d.attached
	if !d.since.IsZero() {
		attached += now.Sub(d.since)
	}
	return max(1, float64(now.Sub(d.began))/float64(max(attached, 1)))
}

// estimate is what a number of calls stands for. Its variance is that of calls
// that come independently of each other, each of which is seen with the same
// probability.
func (d *duty) estimate(calls uint64) source.Estimate {
	f := d.factor()
	all := float64(calls) * f
	return source.Estimate{Events: all, Sum: all, Variance: all * (f - 1)}
}

// scale multiplies the values from first on.
func (d *duty) scale(values []int64, first int) []int64 {
	f := d.factor()
	for i := first; i < len(values); i++ {
		values[i] = int64(float64(values[i])*f + 0.5)
	}
	return values
}
