package receiver

import (
	"errors"
	"fmt"
	"time"
)

// OffCPUConfig is the configuration of off-CPU profiles.
type OffCPUConfig struct {
	// MinDuration leaves shorter waits out. Default 0s, at most 1m.
	MinDuration time.Duration `mapstructure:"min_duration"`
	// StackInterval is about how often the stack of a thread is taken that waits
	// often; such a stack stands for several waits. Threads that wait more
	// seldom, and waits of 10 ms or more, are never left out. Default 1ms; 0s:
	// the stack of each wait. At most 1s.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

// The values of on_missing.
const (
	onMissingFail = "fail"
	onMissingSkip = "skip"
)

// The bounds of the kinds.
const (
	maxMinDuration   = time.Minute
	maxStackInterval = time.Second
)

// errNoKind says that there is nothing to do.
var errNoKind = errors.New("no kind of profile is on: leave cpu::enabled at true, or add another such as off_cpu")

// validateKinds checks the kinds of profiles.
func (c *Config) validateKinds() error {
	var errs []error
	kinds := 0
	if c.CPU.Enabled {
		kinds++
	}
	if o := c.OffCPU.Get(); o != nil {
		kinds++
		errs = append(errs,
			between("off_cpu::min_duration", o.MinDuration, 0, maxMinDuration),
			between("off_cpu::stack_interval", o.StackInterval, 0, maxStackInterval))
	}
	if kinds == 0 {
		errs = append(errs, errNoKind)
	}
	if c.OnMissing != onMissingFail && c.OnMissing != onMissingSkip {
		errs = append(errs, fmt.Errorf("on_missing: must be fail or skip, got %q", c.OnMissing))
	}
	return errors.Join(errs...)
}
