package receiver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configoptional"

	"github.com/flametel/flametel/receiver/internal/sysname"
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

func (c *OffCPUConfig) validate(key string) error {
	return errors.Join(
		between(key+"::min_duration", c.MinDuration, 0, maxMinDuration),
		between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval))
}

// SyscallsConfig is the configuration of profiles of system calls.
type SyscallsConfig struct {
	// Names are the calls to count, such as openat. Default all.
	Names []string `mapstructure:"names"`
	// StackInterval is about how often the stack of a thread is taken that makes
	// many calls; the exact totals are shared out among these stacks. Threads
	// that make fewer, and calls of 10 ms or more, always have theirs. Default
	// 1ms; 0s: the stack of each call. At most 1s.
	StackInterval time.Duration `mapstructure:"stack_interval"`
	// Share is the part of the time in which calls are looked at, from 0.01 to
	// 1; what is counted is scaled up. Calls that are under way when a turn ends
	// are not counted. Default 1.
	Share float64 `mapstructure:"share"`

	_ struct{}
}

func (c *SyscallsConfig) validate(key string) error {
	errs := []error{
		checkEach(key+"::names", c.Names, checkSyscall),
		between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval),
	}
	if !(c.Share >= minShare && c.Share <= 1) {
		errs = append(errs, fmt.Errorf("%s::share: must be between %v and 1, got %v", key, minShare, c.Share))
	}
	return errors.Join(errs...)
}

func checkSyscall(name string) error {
	if name == "" {
		return errors.New("must not be empty")
	}
	_, native := sysname.Number(name)
	_, compat := sysname.CompatNumber(name)
	if native || compat {
		return nil
	}
	return fmt.Errorf("there is no system call %q; did you mean %s?", name, strings.Join(sysname.Nearest(name, 3), ", "))
}

// FileOpensConfig is the configuration of profiles of opened files.
type FileOpensConfig struct {
	// FailedOnly leaves out files that could be opened. Default false.
	FailedOnly bool `mapstructure:"failed_only"`
	// StackInterval is that of system calls. Default 1ms.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

func (c *FileOpensConfig) validate(key string) error {
	return between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval)
}

// FileReadsConfig is the configuration of profiles of reads.
type FileReadsConfig struct {
	// MinDuration leaves shorter reads out. Default 0s, at most 1m.
	MinDuration time.Duration `mapstructure:"min_duration"`
	// StackInterval is that of system calls. Default 1ms.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

func (c *FileReadsConfig) validate(key string) error {
	return errors.Join(
		between(key+"::min_duration", c.MinDuration, 0, maxMinDuration),
		between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval))
}

// PageFaultsConfig is the configuration of profiles of page faults.
type PageFaultsConfig struct {
	// StackInterval is about how often each CPU takes the stack of a fault, when
	// it has many; the exact totals are shared out among these stacks. Major
	// faults always have theirs. Default 1ms; 0s: each. At most 1s.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

func (c *PageFaultsConfig) validate(key string) error {
	return between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval)
}

// LockContentionConfig is the configuration of profiles of waits for locks.
type LockContentionConfig struct {
	// MinDuration leaves shorter waits out. Default 0s, at most 1m.
	MinDuration time.Duration `mapstructure:"min_duration"`
	// StackInterval is that of off-CPU time; for locks of the kernel, by CPU.
	// Default 1ms.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

func (c *LockContentionConfig) validate(key string) error {
	return errors.Join(
		between(key+"::min_duration", c.MinDuration, 0, maxMinDuration),
		between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval))
}

// KernelAllocationsConfig is the configuration of profiles of kernel memory.
type KernelAllocationsConfig struct {
	// MinSize leaves out allocations of which less was asked, in bytes. Default
	// 8192, more than a page, from 1 to 2^40.
	MinSize int `mapstructure:"min_size"`
	// StackInterval is that of page faults. Default 1ms.
	StackInterval time.Duration `mapstructure:"stack_interval"`

	_ struct{}
}

func (c *KernelAllocationsConfig) validate(key string) error {
	return errors.Join(
		between(key+"::min_size", c.MinSize, 1, maxMinSize, " bytes"),
		between(key+"::stack_interval", c.StackInterval, 0, maxStackInterval))
}

// TCPRetransmitsConfig is the configuration of profiles of TCP retransmits. It
// has no settings.
type TCPRetransmitsConfig struct {
	_ struct{}
}

func (*TCPRetransmitsConfig) validate(string) error { return nil }

// The values of on_missing.
const (
	onMissingFail = "fail"
	onMissingSkip = "skip"
)

// The bounds of the kinds.
const (
	maxMinDuration   = time.Minute
	maxStackInterval = time.Second
	minShare         = 0.01
	maxMinSize       = 1 << 40
)

// errNoKind says that there is nothing to do.
var errNoKind = errors.New("no kind of profile is on: leave cpu::enabled at true, or add another such as off_cpu")

// validateKinds checks the kinds that are on.
func (c *Config) validateKinds() error {
	errs := []error{
		validateKind("off_cpu", &c.OffCPU),
		validateKind("syscalls", &c.Syscalls),
		validateKind("file_opens", &c.FileOpens),
		validateKind("file_reads", &c.FileReads),
		validateKind("page_faults", &c.PageFaults),
		validateKind("lock_contention", &c.LockContention),
		validateKind("kernel_allocations", &c.KernelAllocations),
		validateKind("tcp_retransmits", &c.TCPRetransmits),
	}
	if !c.CPU.Enabled && !c.anyKind() {
		errs = append(errs, errNoKind)
	}
	if c.OnMissing != onMissingFail && c.OnMissing != onMissingSkip {
		errs = append(errs, fmt.Errorf("on_missing: must be fail or skip, got %q", c.OnMissing))
	}
	return errors.Join(errs...)
}

// anyKind tells whether another kind than cpu is on.
func (c *Config) anyKind() bool {
	return c.OffCPU.HasValue() || c.Syscalls.HasValue() || c.FileOpens.HasValue() || c.FileReads.HasValue() ||
		c.PageFaults.HasValue() || c.LockContention.HasValue() || c.KernelAllocations.HasValue() || c.TCPRetransmits.HasValue()
}

// validateKind checks the section of a kind if it is present.
func validateKind[T any, P interface {
	*T
	validate(key string) error
}](key string, section *configoptional.Optional[T]) error {
	if !section.HasValue() {
		return nil
	}
	return P(section.Get()).validate(key)
}
