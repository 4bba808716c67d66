package receiver

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"

	"github.com/flametel/flametel/internal/confighelp"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
)

// Config is the configuration of the receiver. What is left out has the
// default given here.
type Config struct {
	// Window is how long samples are added up before a profile of each process
	// is sent. Default 10s, from drain_interval to 1h.
	Window time.Duration `mapstructure:"window"`
	// DrainInterval is how often the kernel's maps are emptied and stacks get
	// their names. Default 1s, from 10ms to 1m.
	DrainInterval time.Duration `mapstructure:"drain_interval"`
	// Targets limits what is profiled; empty means the whole host.
	Targets TargetsConfig `mapstructure:"targets"`
	// CPU profiles where programs spend CPU time. It is on by default.
	CPU CPUConfig `mapstructure:"cpu"`
	// OffCPU profiles what threads wait for. Off unless present.
	OffCPU configoptional.Optional[OffCPUConfig] `mapstructure:"off_cpu"`
	// Syscalls profiles which system calls programs make. Off unless present.
	Syscalls configoptional.Optional[SyscallsConfig] `mapstructure:"syscalls"`
	// FileOpens profiles which files programs open. Off unless present.
	FileOpens configoptional.Optional[FileOpensConfig] `mapstructure:"file_opens"`
	// FileReads profiles reads of regular files. Off unless present.
	FileReads configoptional.Optional[FileReadsConfig] `mapstructure:"file_reads"`
	// PageFaults profiles where programs touch memory that is not there. Off
	// unless present.
	PageFaults configoptional.Optional[PageFaultsConfig] `mapstructure:"page_faults"`
	// LockContention profiles waits for locks. Off unless present.
	LockContention configoptional.Optional[LockContentionConfig] `mapstructure:"lock_contention"`
	// KernelAllocations profiles memory that the kernel allocates for programs.
	// Off unless present.
	KernelAllocations configoptional.Optional[KernelAllocationsConfig] `mapstructure:"kernel_allocations"`
	// TCPRetransmits profiles segments that TCP sends again. Off unless present.
	TCPRetransmits configoptional.Optional[TCPRetransmitsConfig] `mapstructure:"tcp_retransmits"`
	// OnMissing says what happens if this kernel cannot do what a kind of
	// profile needs: fail to start, or skip the kind. Default fail.
	OnMissing string `mapstructure:"on_missing"`
	// Metrics says how much metrics tell apart.
	Metrics MetricsConfig `mapstructure:"metrics"`
	// Unwind says how user stacks are walked.
	Unwind UnwindConfig `mapstructure:"unwind"`
	// Symbols says how frames get their names.
	Symbols SymbolsConfig `mapstructure:"symbols"`
	// ResourceAttributes switches attributes of processes that are not always
	// wanted.
	ResourceAttributes ResourceAttributesConfig `mapstructure:"resource_attributes"`
	// PerThread keeps samples of threads of the same name apart and gives them
	// the attribute thread.id. Default false.
	PerThread bool `mapstructure:"per_thread"`
	// MapEntries is the size of the kernel's sample and stack maps, in entries.
	// Default 0: enough for every sample of a drain interval to differ, and 8,192
	// events of each kind in a second. At most 524,288.
	MapEntries int `mapstructure:"map_entries"`

	// without are hooks that count as missing, by kind, see bpf.Options. Tests set it.
	without map[string][]string

	_ struct{} // keyed literals only
}

// TargetsConfig lists the processes to profile. A process that matches any
// entry is profiled, and so are its children.
type TargetsConfig struct {
	// PIDs are process IDs in the PID namespace of the collector.
	PIDs []int `mapstructure:"pids"`
	// FromExec profiles these processes only from their next exec on, when they
	// become the programs that they were started to run. Default false.
	FromExec bool `mapstructure:"from_exec"`
	// Executables are globs (as in path.Match) on the base name of the program
	// file.
	Executables []string `mapstructure:"executables"`
	// Cgroups are path prefixes that begin with a slash, or container IDs.
	Cgroups []string `mapstructure:"cgroups"`

	_ struct{}
}

// CPUConfig is the configuration of CPU profiles.
type CPUConfig struct {
	// Enabled is false to do without CPU profiles. Default true.
	Enabled bool `mapstructure:"enabled"`
	// Frequency is the number of samples per second and CPU. Default 99, from
	// 1 to 9999.
	Frequency int `mapstructure:"frequency"`

	_ struct{}
}

// UnwindConfig is the configuration of how user stacks are walked.
type UnwindConfig struct {
	// Tables walks code without frame pointers by tables that are made of its
	// unwind information (.eh_frame) and loaded into the kernel. Without them
	// only code with frame pointers has complete stacks. Default true.
	Tables bool `mapstructure:"tables"`
	// MaxTableMiB is the kernel memory for these tables in MiB, rounded up to a
	// power of two and taken at start. When it is full, files that are not seen
	// in stacks give way. Default 32, from 1 to 128.
	MaxTableMiB int `mapstructure:"max_table_mib"`

	_ struct{}
}

// SymbolsConfig is the configuration of names.
type SymbolsConfig struct {
	// Demangle says how names of C++ and Rust are shown: simple (without
	// arguments), full, or none (as in the symbol table). Default simple.
	Demangle string `mapstructure:"demangle"`
	// Inlines shows calls that the compiler inlined as lines of their own, with
	// files and line numbers. Without it no debug information is read, and only
	// Go code has line numbers. Default true.
	Inlines bool `mapstructure:"inlines"`
	// DebugDirs are the folders of separate debug files, absolute, looked at in
	// the root of each process and on the host. Default [/usr/lib/debug].
	DebugDirs []string `mapstructure:"debug_dirs"`
	// DebuginfodURLs are servers that are asked, in the background and in this
	// order, for debug files that are not on the host. They learn the build IDs
	// of what runs here. Default none.
	DebuginfodURLs []string `mapstructure:"debuginfod_urls"`
	// DebuginfodCache is the folder for what servers sent, at most 1 GiB. It is
	// made if it does not exist and must belong to the collector alone. Default
	// /var/cache/flametel/debuginfod.
	DebuginfodCache string `mapstructure:"debuginfod_cache"`
	// MaxCacheMiB bounds the memory for symbols in MiB. What was used longest
	// ago is given back first and read again if need be. Default 128, from 8 to
	// 65536.
	MaxCacheMiB int `mapstructure:"max_cache_mib"`
	// Patience is how long a drain waits for the symbols of a file that is big or
	// comes slowly. Its frames have no names in this drain if that is too short,
	// and have in later ones. Default 2s, from 100ms to 1m.
	Patience time.Duration `mapstructure:"patience"`

	_ struct{}
}

// ResourceAttributesConfig switches resource attributes.
type ResourceAttributesConfig struct {
	// CommandLine adds process.command_line, which may hold secrets. Default
	// false.
	CommandLine bool `mapstructure:"command_line"`

	_ struct{}
}

// The values of symbols::demangle.
const (
	demangleSimple = "simple"
	demangleFull   = "full"
	demangleNone   = "none"
)

// The bounds of the configuration.
const (
	minDrainInterval = 10 * time.Millisecond
	maxDrainInterval = time.Minute
	maxWindow        = time.Hour
	minFrequency     = 1
	maxFrequency     = 9999
	// maxMapEntries is the largest size that package bpf makes.
	maxMapEntries = 1 << 19
	// maxPID is PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h).
	maxPID = 1 << 22
	// maxTargets bounds each list of targets.
	maxTargets = 1024
	// Below 8 MiB the symbols of one big library would push out all others.
	minCacheMiB = 8
	// maxTableMiB is what the search in the kernel is made for.
	maxTableMiB = 128
	maxCacheMiB = 1 << 16
	minPatience = 100 * time.Millisecond
	maxPatience = time.Minute
	// A container ID has 64 hexadecimal digits, of which people give 12 or more.
	minContainerID = 12
	maxContainerID = 64
)

// Unmarshal implements confmap.Unmarshaler: an unknown key is told with the one
// that may be meant.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return confighelp.Unmarshal(conf, c) }

// Validate returns all problems at once. It looks only at the configuration,
// not at the host.
func (c *Config) Validate() error {
	errs := []error{
		between("drain_interval", c.DrainInterval, minDrainInterval, maxDrainInterval),
		between("cpu::frequency", c.CPU.Frequency, minFrequency, maxFrequency, " Hz"),
		between("map_entries", c.MapEntries, 0, maxMapEntries),
		between("unwind::max_table_mib", c.Unwind.MaxTableMiB, 1, maxTableMiB),
		between("metrics::max_processes", c.Metrics.MaxProcesses, 1, maxMetricsProcesses),
		c.validateKinds(),
		c.Targets.validate(),
	}
	if c.Window < c.DrainInterval {
		errs = append(errs, fmt.Errorf("window: must not be shorter than drain_interval, which is %v, got %v", c.DrainInterval, c.Window))
	} else {
		errs = append(errs, between("window", c.Window, minDrainInterval, maxWindow))
	}
	errs = append(errs, c.Symbols.validate())
	return confighelp.All(metadata.Type, errs...)
}

func (s *SymbolsConfig) validate() error {
	var errs []error
	switch s.Demangle {
	case demangleSimple, demangleFull, demangleNone:
	default:
		errs = append(errs, fmt.Errorf("symbols::demangle: must be simple, full or none, got %q", s.Demangle))
	}
	errs = append(errs,
		checkEach("symbols::debug_dirs", s.DebugDirs, checkFolder),
		checkEach("symbols::debuginfod_urls", s.DebuginfodURLs, debuginfod.ValidateURL),
		between("symbols::max_cache_mib", s.MaxCacheMiB, minCacheMiB, maxCacheMiB),
		between("symbols::patience", s.Patience, minPatience, maxPatience),
	)
	if err := checkFolder(s.DebuginfodCache); err != nil && len(s.DebuginfodURLs) > 0 {
		errs = append(errs, fmt.Errorf("symbols::debuginfod_cache: %w", err))
	}
	return errors.Join(errs...)
}

func checkFolder(name string) error {
	if !path.IsAbs(name) {
		return fmt.Errorf("must be an absolute path, got %q", name)
	}
	return nil
}

// between returns an error that names the key unless low <= value <= high.
func between[T int | time.Duration](key string, value, low, high T, unit ...string) error {
	if value >= low && value <= high {
		return nil
	}
	return fmt.Errorf("%s: must be between %v and %v%s, got %v", key, low, high, strings.Join(unit, ""), value)
}

func (t *TargetsConfig) validate() error {
	errs := []error{
		checkEach("targets::pids", t.PIDs, checkPID),
		checkEach("targets::executables", t.Executables, checkExecutable),
		checkEach("targets::cgroups", t.Cgroups, checkCgroup),
	}
	if t.FromExec && len(t.PIDs) == 0 {
		errs = append(errs, errors.New("targets::from_exec: needs targets::pids"))
	}
	return errors.Join(errs...)
}

// checkEach applies check to each entry of a list and names the bad ones.
func checkEach[T any](key string, list []T, check func(T) error) error {
	if len(list) > maxTargets {
		return fmt.Errorf("%s: at most %d entries are possible, got %d", key, maxTargets, len(list))
	}
	var errs []error
	for i, v := range list {
		if err := check(v); err != nil {
			errs = append(errs, fmt.Errorf("%s::%d: %w", key, i, err))
		}
	}
	return errors.Join(errs...)
}

func checkPID(pid int) error {
	if pid < 1 || pid > maxPID {
		return fmt.Errorf("must be between 1 and %d, got %d", maxPID, pid)
	}
	return nil
}

func checkExecutable(glob string) error {
	switch _, err := path.Match(glob, ""); {
	case glob == "":
		return errors.New("must not be empty")
	case strings.Contains(glob, "/"):
		return fmt.Errorf("is matched with the base name of the program file and must not hold a slash, got %q", glob)
	case err != nil:
		return fmt.Errorf("is not a glob: %w: %q", err, glob)
	}
	return nil
}

func checkCgroup(c string) error {
	if strings.HasPrefix(c, "/") {
		return nil
	}
	hex := strings.Trim(c, "0123456789abcdef") == ""
	if !hex || len(c) < minContainerID || len(c) > maxContainerID {
		return fmt.Errorf("must be a path that begins with a slash, or %d to %d lower-case hexadecimal digits of a container ID, got %q",
			minContainerID, maxContainerID, c)
	}
	return nil
}
