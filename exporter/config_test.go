package exporter

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap/confmaptest"
)

func TestLoadConfig(t *testing.T) {
	conf, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	tests := map[string]*Config{
		"flamegraph": {
			Path: "profiles/{service}-{type}-{start}.svg", Interval: time.Minute, MaxFiles: 100,
			Layout: "icicle", Annotations: true, Frames: "all", Merge: "process", MemoryLimitMiB: 256, MaxSizeMiB: 8,
		},
		"flamegraph/all": {
			Path: "/var/lib/profiles/{host}.out", Format: "folded", Interval: 5 * time.Minute, MaxFiles: 7,
			SampleType: "off_cpu", Layout: "icicle", Title: "All of it", Annotations: false, MemoryLimitMiB: 64, MaxSizeMiB: 0, Baseline: "base/{host}.folded",
			Include: "^nginx$|worker", Exclude: "epoll_wait", Frames: "user", Merge: "thread", Idle: true,
		},
		"flamegraph/stdout": {
			Path: "-", MaxFiles: 100, Layout: "icicle", Annotations: true, Frames: "all", Merge: "process", MemoryLimitMiB: 256, MaxSizeMiB: 8,
		},
	}
	for id, want := range tests {
		t.Run(id, func(t *testing.T) {
			sub, err := conf.Sub(id)
			require.NoError(t, err)
			cfg := createDefaultConfig()
			require.NoError(t, sub.Unmarshal(cfg))
			require.NoError(t, cfg.(*Config).Validate())
			assert.Equal(t, want, cfg)
		})
	}
}

func TestValidateNamesTheKey(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no path", func(c *Config) { c.Path = "" }, "path: is required, for example profiles/{type}-{start}.svg"},
		{"folder", func(c *Config) { c.Path = "profiles/"; c.Format = "svg" }, `path: "profiles/" is not the name of a file`},
		{"NUL", func(c *Config) { c.Path = "a\x00.svg" }, `path: "a\x00.svg" is not the name of a file`},
		{"placeholder", func(c *Config) { c.Path = "{pid}.svg" }, "path: {pid} is not one of {service}, {type}, {start}, {host}"},
		{"open brace", func(c *Config) { c.Path = "{type.svg" }, `path: "{type.svg" has a { without a }`},
		{"closing brace", func(c *Config) { c.Path = "type}.svg" }, `path: "type}.svg" has a } without a {`},
		{"extension", func(c *Config) { c.Path = "a.png" }, `format: is required, as the extension of "a.png" is not one of .svg, .folded, .txt, .pb.gz, .pprof, .speedscope.json, .speedscope`},
		{"format", func(c *Config) { c.Format = "png" }, `format: "png" is not one of svg, folded, pprof, speedscope`},
		{"layout", func(c *Config) { c.Layout = "round" }, `layout: "round" is not one of flame, icicle`},
		{"interval", func(c *Config) { c.Interval = time.Millisecond }, "interval: 1ms is neither 0 nor at least 1s"},
		{"negative interval", func(c *Config) { c.Interval = -time.Hour }, "interval: -1h0m0s is neither 0 nor at least 1s"},
		{"interval on standard output", func(c *Config) { c.Path = "-" }, `interval: must be 0 when path is "-", as standard output is written once`},
		{"max_files", func(c *Config) { c.MaxFiles = -1 }, "max_files: -1 is negative; 0 keeps all files"},
		{"include", func(c *Config) { c.Include = "a(" }, "include: \"a(\" is not a regular expression: error parsing regexp: missing closing ): `a(`"},
		{"exclude", func(c *Config) { c.Exclude = "*" }, "exclude: \"*\" is not a regular expression: error parsing regexp: missing argument to repetition operator: `*`"},
		{"frames", func(c *Config) { c.Frames = "none" }, `frames: "none" is not one of all, kernel, user`},
		{"merge", func(c *Config) { c.Merge = "host" }, `merge: "host" is not one of process, thread, none`},
		{"max_size_mib", func(c *Config) { c.MaxSizeMiB = -1 }, "max_size_mib: -1 is not within 0 to 1048576"},
		{"baseline without interval", func(c *Config) { c.Baseline = "previous"; c.Interval = 0 }, `baseline: "previous" needs an interval, as there is no file before the only one`},
		{"baseline on standard output", func(c *Config) { c.Baseline = "a.svg"; c.Path = "-"; c.Interval = 0 }, "baseline: there is no place beside - for a second file; choose a path"},
		{"baseline beside a device", func(c *Config) { c.Baseline = "a.svg"; c.Path = "/dev/null"; c.Format = "svg" }, "baseline: there is no place beside /dev/null for a second file; choose a path"},
		{"baseline with start", func(c *Config) { c.Baseline = "{start}.svg" }, "baseline: {start} differs for each file; use {service}, {type}, {host} or \"previous\""},
		{"baseline with brace", func(c *Config) { c.Baseline = "{x" }, `baseline: "{x" has a { without a }`},
		{"memory_limit_mib", func(c *Config) { c.MemoryLimitMiB = 0 }, "memory_limit_mib: 0 is not within 1 to 1048576"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := createDefaultConfig().(*Config)
			cfg.Path = "p.svg"
			require.NoError(t, cfg.Validate())
			tt.change(cfg)
			assert.EqualError(t, cfg.Validate(), tt.want)
		})
	}
}

func TestValidateReturnsAllProblems(t *testing.T) {
	err := (&Config{Format: "png", Interval: -1, MaxFiles: -1}).Validate()
	for _, key := range []string{"path:", "format:", "layout:", "interval:", "max_files:", "memory_limit_mib:"} {
		assert.ErrorContains(t, err, key)
	}
}

func TestFormatByExtension(t *testing.T) {
	for path, want := range map[string]string{
		"a.svg": "svg", "a.folded": "folded", "a.txt": "folded", "a.pb.gz": "pprof", "a.pprof": "pprof",
		"a.speedscope.json": "speedscope", "-": "folded",
	} {
		f, err := config(path).format()
		require.NoError(t, err, path)
		assert.Equal(t, want, f.Name, path)
	}
}

func hash(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

func TestSafeValue(t *testing.T) {
	for value, want := range map[string]string{
		"nginx":                 "nginx",
		"my-app_1.2":            "my-app_1.2",
		"":                      "unknown",
		"../../etc/passwd":      "_._.._etc_passwd-" + hash("../../etc/passwd"),
		".hidden":               "_hidden-" + hash(".hidden"),
		"-rf":                   "_rf-" + hash("-rf"),
		"a b\nc\x00":            "a_b_c_-" + hash("a b\nc\x00"),
		"\u65e5\u672c":          "__-" + hash("\u65e5\u672c"),
		strings.Repeat("x", 48): strings.Repeat("x", 48),
		strings.Repeat("x", 49): strings.Repeat("x", 39) + "-" + hash(strings.Repeat("x", 49)),
	} {
		got := safeValue(value)
		assert.Equal(t, want, got, "%q", value)
		assert.LessOrEqual(t, len(got), maxValue)
	}
	assert.NotEqual(t, safeValue("a/b"), safeValue("a:b"), "two values never share a file")
}

func FuzzSafeValue(f *testing.F) {
	f.Add("../x")
	f.Add("\xff\x00.")
	f.Fuzz(func(t *testing.T, s string) {
		got := safeValue(s)
		assert.Regexp(t, `^[A-Za-z0-9_][A-Za-z0-9._-]*$`, got)
		assert.LessOrEqual(t, len(got), maxValue)
	})
}
