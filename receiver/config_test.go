package receiver

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

// load reads one entry of testdata/config.yaml over the defaults.
func load(t *testing.T, key string) (*Config, error) {
	t.Helper()
	all, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.True(t, all.IsSet(key), key)
	sub, err := all.Sub(key)
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	return cfg, sub.Unmarshal(cfg)
}

func TestDefaults(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	assert.Equal(t, 10*time.Second, cfg.Window)
	assert.Equal(t, time.Second, cfg.DrainInterval)
	assert.Equal(t, CPUConfig{Enabled: true, Frequency: 99}, cfg.CPU)
	assert.False(t, cfg.OffCPU.HasValue(), "off unless present")
	assert.Equal(t, "fail", cfg.OnMissing)
	assert.Equal(t, UnwindConfig{Tables: true, MaxTableMiB: 32}, cfg.Unwind)
	assert.Equal(t, SymbolsConfig{
		Demangle: "simple", Inlines: true, DebugDirs: []string{"/usr/lib/debug"},
		DebuginfodCache: "/var/cache/flametel/debuginfod", MaxCacheMiB: 128, Patience: 2 * time.Second,
	}, cfg.Symbols)
	assert.Equal(t, TargetsConfig{}, cfg.Targets)
	assert.NoError(t, confmap.Validate(cfg))
}

func TestLoadConfig(t *testing.T) {
	tests := []struct {
		key    string
		change func(*Config)
	}{
		{"ebpf_profiler", func(*Config) {}},
		{"ebpf_profiler/empty_sections", func(*Config) {}},
		{"ebpf_profiler/all", func(c *Config) {
			c.Window, c.DrainInterval = 30*time.Second, 500*time.Millisecond
			c.Targets = TargetsConfig{
				PIDs:        []int{1, 4194304},
				Executables: []string{"nginx", "python3.*", "[a-z]*"},
				Cgroups:     []string{"/system.slice", "0123456789ab"},
			}
			c.CPU = CPUConfig{Frequency: 199}
			c.OffCPU = configoptional.Some(OffCPUConfig{MinDuration: time.Millisecond, StackInterval: 5 * time.Millisecond})
			c.Syscalls = configoptional.Some(SyscallsConfig{Names: []string{"openat", "read"}, StackInterval: 2 * time.Millisecond, Share: 0.2})
			c.FileOpens = configoptional.Some(FileOpensConfig{FailedOnly: true, StackInterval: 3 * time.Millisecond})
			c.FileReads = configoptional.Some(FileReadsConfig{MinDuration: 10 * time.Millisecond, StackInterval: 4 * time.Millisecond})
			c.PageFaults = configoptional.Some(PageFaultsConfig{StackInterval: 6 * time.Millisecond})
			c.LockContention = configoptional.Some(LockContentionConfig{MinDuration: time.Microsecond, StackInterval: 7 * time.Millisecond})
			c.KernelAllocations = configoptional.Some(KernelAllocationsConfig{MinSize: 4096, StackInterval: 8 * time.Millisecond})
			c.TCPRetransmits = configoptional.Some(TCPRetransmitsConfig{})
			c.OnMissing = "skip"
			c.Unwind = UnwindConfig{MaxTableMiB: 64}
			c.Symbols = SymbolsConfig{
				Demangle: "full", DebugDirs: []string{"/opt/debug"},
				DebuginfodURLs:  []string{"https://debuginfod.example.org", "http://127.0.0.1:8002/x"},
				DebuginfodCache: "/srv/debuginfod", MaxCacheMiB: 64, Patience: 2 * time.Second,
			}
			c.ResourceAttributes = ResourceAttributesConfig{CommandLine: true}
			c.PerThread = true
			c.MapEntries = 65536
		}},
		{"ebpf_profiler/kinds", func(c *Config) {
			c.OffCPU = configoptional.Some(OffCPUConfig{StackInterval: time.Millisecond})
			c.Syscalls = configoptional.Some(SyscallsConfig{StackInterval: time.Millisecond, Share: 1})
			c.FileOpens = configoptional.Some(FileOpensConfig{StackInterval: time.Millisecond})
			c.FileReads = configoptional.Some(FileReadsConfig{StackInterval: time.Millisecond})
			c.PageFaults = configoptional.Some(PageFaultsConfig{StackInterval: time.Millisecond})
			c.LockContention = configoptional.Some(LockContentionConfig{StackInterval: time.Millisecond})
			c.KernelAllocations = configoptional.Some(KernelAllocationsConfig{MinSize: 8192, StackInterval: time.Millisecond})
			c.TCPRetransmits = configoptional.Some(TCPRetransmitsConfig{})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			cfg, err := load(t, tt.key)
			require.NoError(t, err)
			want := createDefaultConfig().(*Config)
			tt.change(want)
			assert.Equal(t, want, cfg)
			assert.NoError(t, confmap.Validate(cfg))
		})
	}
}

// Unknown keys and wrong types are errors that name the key.
func TestLoadBadConfig(t *testing.T) {
	for key, want := range map[string]string{
		"ebpf_profiler/unknown_key":        "of_cpu",
		"ebpf_profiler/unknown_nested_key": "inlined",
		"ebpf_profiler/wrong_type":         "cpu.frequency",
	} {
		t.Run(key, func(t *testing.T) {
			_, err := load(t, key)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestFromExecNeedsProcesses(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Targets.FromExec = true
	assert.ErrorContains(t, cfg.Validate(), "targets::from_exec: needs targets::pids")
	cfg.Targets.PIDs = []int{1}
	assert.NoError(t, cfg.Validate())
}

// All problems are reported at once.
func TestValidateReportsAll(t *testing.T) {
	cfg, err := load(t, "ebpf_profiler/bad_everything")
	require.NoError(t, err)
	want := []string{
		`cpu::frequency: must be between 1 and 9999 Hz, got 0`,
		`map_entries: must be between 0 and 524288, got -1`,
		`off_cpu::min_duration: must be between 0s and 1m0s, got -1s`,
		`off_cpu::stack_interval: must be between 0s and 1s, got 2s`,
		`syscalls::names::1: there is no system call "fstatat"; did you mean newfstatat, fstat, fstatfs?`,
		`syscalls::names::2: there is no system call "opnat"; did you mean openat, openat2, open?`,
		`syscalls::names::3: must not be empty`,
		`syscalls::stack_interval: must be between 0s and 1s, got -1s`,
		`syscalls::share: must be between 0.01 and 1, got 0`,
		`file_opens::stack_interval: must be between 0s and 1s, got 2s`,
		`file_reads::min_duration: must be between 0s and 1m0s, got 1h0m0s`,
		`file_reads::stack_interval: must be between 0s and 1s, got 2s`,
		`page_faults::stack_interval: must be between 0s and 1s, got 2s`,
		`lock_contention::min_duration: must be between 0s and 1m0s, got 2m0s`,
		`lock_contention::stack_interval: must be between 0s and 1s, got 2s`,
		`kernel_allocations::min_size: must be between 1 and 1099511627776 bytes, got 0`,
		`kernel_allocations::stack_interval: must be between 0s and 1s, got 2s`,
		`on_missing: must be fail or skip, got "ignore"`,
		`targets::pids::0: must be between 1 and 4194304, got 0`,
		`targets::pids::2: must be between 1 and 4194304, got -1`,
		`targets::pids::3: must be between 1 and 4194304, got 4194305`,
		`targets::executables::0: must not be empty`,
		`targets::executables::1: is matched with the base name of the program file and must not hold a slash, got "/usr/bin/x"`,
		`targets::executables::2: is not a glob: syntax error in pattern: "["`,
		`targets::cgroups::0: must be a path that begins with a slash, or 12 to 64 lower-case hexadecimal digits of a container ID, got ""`,
		`targets::cgroups::1: must be a path that begins with a slash, or 12 to 64 lower-case hexadecimal digits of a container ID, got "relative/path"`,
		`targets::cgroups::2: must be a path that begins with a slash, or 12 to 64 lower-case hexadecimal digits of a container ID, got "0123456789a"`,
		`targets::cgroups::3: must be a path that begins with a slash, or 12 to 64 lower-case hexadecimal digits of a container ID, got "0123456789AB"`,
		`window: must not be shorter than drain_interval, which is 1s, got 500ms`,
		`symbols::demangle: must be simple, full or none, got "fancy"`,
		`symbols::debug_dirs::0: must be an absolute path, got "debug"`,
		`symbols::debuginfod_urls::0: debuginfod server debuginfod.example.org: use an http or https URL`,
		`symbols::max_cache_mib: must be between 8 and 65536, got 7`,
		`symbols::patience: must be between 100ms and 1m0s, got 0s`,
		`symbols::debuginfod_cache: must be an absolute path, got "cache"`,
	}
	err = cfg.Validate()
	require.Error(t, err)
	assert.Equal(t, want, strings.Split(err.Error(), "\nebpf_profiler: "))
}

func TestValidateBounds(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string // "" means valid
	}{
		{"frequency 1", func(c *Config) { c.CPU.Frequency = 1 }, ""},
		{"frequency 9999", func(c *Config) { c.CPU.Frequency = 9999 }, ""},
		{"frequency -1", func(c *Config) { c.CPU.Frequency = -1 }, "cpu::frequency: must be between 1 and 9999 Hz, got -1"},
		{"frequency 100000", func(c *Config) { c.CPU.Frequency = 100000 }, "cpu::frequency: must be between 1 and 9999 Hz, got 100000"},
		{"window equal to drain", func(c *Config) { c.Window = c.DrainInterval }, ""},
		{"window 1h", func(c *Config) { c.Window = time.Hour }, ""},
		{"window above", func(c *Config) { c.Window = time.Hour + 1 }, "window: must be between 10ms and 1h0m0s, got 1h0m0.000000001s"},
		{"drain 0", func(c *Config) { c.DrainInterval = 0 }, "drain_interval: must be between 10ms and 1m0s, got 0s"},
		{"drain above", func(c *Config) { c.DrainInterval, c.Window = time.Hour, time.Hour }, "drain_interval: must be between 10ms and 1m0s, got 1h0m0s"},
		{"map entries 1", func(c *Config) { c.MapEntries = 1 }, ""},
		{"map entries above", func(c *Config) { c.MapEntries = 1<<19 + 1 }, "map_entries: must be between 0 and 524288, got 524289"},
		{"too many targets", func(c *Config) { c.Targets.PIDs = make([]int, 1025) }, "targets::pids: at most 1024 entries are possible, got 1025"},
		{"full container ID", func(c *Config) { c.Targets.Cgroups = []string{strings.Repeat("0f", 32)} }, ""},
		{"too long container ID", func(c *Config) { c.Targets.Cgroups = []string{strings.Repeat("0f", 33)} }, "targets::cgroups::0: must be a path that begins with a slash, or 12 to 64 lower-case hexadecimal digits of a container ID, got \"" + strings.Repeat("0f", 33) + `"`},
		{"no table memory", func(c *Config) { c.Unwind.MaxTableMiB = 0 }, "unwind::max_table_mib: must be between 1 and 128, got 0"},
		{"no cache without servers", func(c *Config) { c.Symbols.DebuginfodCache = "" }, ""},
		{"no cache", func(c *Config) {
			c.Symbols.DebuginfodURLs, c.Symbols.DebuginfodCache = []string{"http://[::1]:8002"}, ""
		}, `symbols::debuginfod_cache: must be an absolute path, got ""`},
		{"password of a server", func(c *Config) { c.Symbols.DebuginfodURLs = []string{"https://u:secret@example.org"} },
			"symbols::debuginfod_urls::0: debuginfod server example.org: remove the user name and password, they are not used"},
		{"nothing on", func(c *Config) { c.CPU.Enabled = false },
			"no kind of profile is on: leave cpu::enabled at true, or add another such as off_cpu"},
		{"no demangling", func(c *Config) { c.Symbols.Demangle = "none" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := createDefaultConfig().(*Config)
			tt.change(cfg)
			err := cfg.Validate()
			if tt.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.want)
		})
	}
}

// README.md lists every key that the configuration has.
func TestReadmeListsKeys(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	keys := configKeys(reflect.TypeFor[Config](), "")
	assert.Len(t, keys, 37)
	for _, key := range keys {
		assert.Contains(t, string(readme), "\n| `"+key+"` |")
	}
}

// configKeys returns the keys of all settings below a section.
func configKeys(section reflect.Type, prefix string) (keys []string) {
	for field := range section.Fields() {
		tag := field.Tag.Get("mapstructure")
		switch {
		case tag == "":
		case tag == ",squash": // one key for each metric
			keys = append(keys, prefix+"NAME::enabled")
		case strings.HasPrefix(field.Type.Name(), "Optional["):
			inner, _ := field.Type.FieldByName("value")
			keys = append(keys, configKeys(inner.Type, prefix+tag+"::")...)
		case field.Type.Kind() == reflect.Struct:
			keys = append(keys, configKeys(field.Type, prefix+tag+"::")...)
		default:
			keys = append(keys, prefix+tag)
		}
	}
	return keys
}
