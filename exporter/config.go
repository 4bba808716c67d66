package exporter

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"

	"github.com/flametel/flametel/exporter/choose"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/svg"
	"github.com/flametel/flametel/internal/confighelp"
)

// Config is the configuration of the exporter. README.md lists the same keys.
type Config struct {
	// Path is where files are written: a template in which {service}, {type},
	// {start} and {host} are replaced. "-" is standard output, written at
	// shutdown. Required.
	Path string `mapstructure:"path"`
	// Format is svg, folded, pprof or speedscope. Empty: by the extension of
	// Path; for "-" it is folded.
	Format string `mapstructure:"format"`
	// Interval is how long data is collected for one file, at least a second.
	// 0 is one file for the whole run, rewritten as data comes, complete at
	// shutdown.
	Interval time.Duration `mapstructure:"interval"`
	// MaxFiles is how many files that match Path are kept; the oldest are
	// removed, but never those of the interval just written, however many. 0
	// keeps all.
	MaxFiles int `mapstructure:"max_files"`
	// SampleType writes only this type, such as cpu or off_cpu. Empty: all.
	SampleType string `mapstructure:"sample_type"`
	// Layout of an SVG: flame (root at the bottom) or icicle (root at the top).
	Layout string `mapstructure:"layout"`
	// Title of an SVG. Empty: made from the sample type and host.
	Title string `mapstructure:"title"`
	// MaxSizeMiB bounds an SVG: the smallest subtrees are merged, and the file
	// says so. 0 is no limit.
	MaxSizeMiB int `mapstructure:"max_size_mib"`
	// Baseline is what each file is compared with: the path of a profile in any
	// format that we read, which may have {service}, {type} and {host} in it, or
	// "previous" for the interval before. The differential flame graph stands
	// beside the file, as NAME.diff.svg. Empty: no comparison.
	Baseline string `mapstructure:"baseline"`
	// Include writes only stacks that have a frame whose name matches this
	// regular expression (RE2); the names of the process and of the thread count
	// as frames. Empty: all stacks.
	Include string `mapstructure:"include"`
	// Exclude leaves out stacks that have such a frame, whatever Include says.
	Exclude string `mapstructure:"exclude"`
	// Frames is all, kernel or user: only these frames of each stack are
	// written, and samples that have none of them are left out.
	Frames string `mapstructure:"frames"`
	// Merge says which stacks are merged: process (those of processes of one
	// name), thread (within them, those of threads of one name) or none (no
	// distinction: all stacks begin with a function).
	Merge string `mapstructure:"merge"`
	// Idle adds the time of idle CPUs as a frame of its own.
	Idle bool `mapstructure:"idle"`
	// Annotations writes _[k], _[j] and _[i] in folded text.
	Annotations bool `mapstructure:"annotations"`
	// MemoryLimitMiB bounds the memory of what waits to be written. Stacks
	// beyond it are counted in one frame of the file that says so.
	MemoryLimitMiB int `mapstructure:"memory_limit_mib"`

	_ struct{} // fields must be named in literals
}

// pathStdout is the path that stands for standard output.
const pathStdout = "-"

// maxMemoryLimitMiB is far beyond sense, and keeps the bytes within an int64.
const maxMemoryLimitMiB = 1 << 20

func createDefaultConfig() component.Config {
	return &Config{
		Interval:       time.Minute,
		MaxFiles:       100,
		Layout:         layoutIcicle,
		Frames:         string(choose.All),
		Merge:          mergeProcess,
		Annotations:    true,
		MemoryLimitMiB: 256,
		MaxSizeMiB:     svg.DefaultMaxBytes >> 20,
	}
}

// Unmarshal implements confmap.Unmarshaler: an unknown key is told with the one
// that may be meant.
func (c *Config) Unmarshal(conf *confmap.Conf) error { return confighelp.Unmarshal(conf, c) }

// Validate returns all problems at once, each with the key that it is about.
func (c *Config) Validate() error {
	return confighelp.All(metadata.Type,
		c.validatePath(),
		c.validateFormat(),
		c.validateLayout(),
		c.validateBaseline(),
		c.validateChoice(),
		c.validateNumbers(),
	)
}

func (c *Config) validatePath() error {
	if c.Path == pathStdout {
		if c.Interval != 0 {
			return errors.New(`interval: must be 0 when path is "-", as standard output is written once`)
		}
		return nil
	}
	if c.Path == "" {
		return errors.New("path: is required, for example profiles/{type}-{start}.svg")
	}
	if strings.HasSuffix(c.Path, "/") || strings.ContainsRune(c.Path, 0) {
		return fmt.Errorf("path: %q is not the name of a file", c.Path)
	}
	_, err := parseTemplate(c.Path)
	return err
}

func (c *Config) validateFormat() error {
	if c.Path == "" && c.Format == "" {
		return nil // the path is what is missing
	}
	_, err := c.format()
	return err
}

func (c *Config) validateLayout() error {
	if c.Layout != layoutFlame && c.Layout != layoutIcicle {
		return fmt.Errorf("layout: %q is not one of flame, icicle", c.Layout)
	}
	return nil
}

func (c *Config) validateNumbers() error {
	var errs []error
	if c.Interval < 0 || c.Interval > 0 && c.Interval < time.Second {
		errs = append(errs, fmt.Errorf("interval: %v is neither 0 nor at least 1s", c.Interval))
	}
	if c.MaxFiles < 0 {
		errs = append(errs, fmt.Errorf("max_files: %d is negative; 0 keeps all files", c.MaxFiles))
	}
	if c.MemoryLimitMiB < 1 || c.MemoryLimitMiB > maxMemoryLimitMiB {
		errs = append(errs, fmt.Errorf("memory_limit_mib: %d is not within 1 to %d", c.MemoryLimitMiB, maxMemoryLimitMiB))
	}
	if c.MaxSizeMiB < 0 || c.MaxSizeMiB > maxMemoryLimitMiB {
		errs = append(errs, fmt.Errorf("max_size_mib: %d is not within 0 to %d", c.MaxSizeMiB, maxMemoryLimitMiB))
	}
	return errors.Join(errs...)
}

// format returns the format of the files: Format or, without one, that of Path's
// extension.
func (c *Config) format() (*formats.Format, error) {
	if c.Format != "" {
		if f := formats.ByName(c.Format); f != nil && f.Write != nil {
			return f, nil
		}
		return nil, fmt.Errorf("format: %q is not one of %s", c.Format, strings.Join(formats.WrittenNames(), ", "))
	}
	if c.Path == pathStdout {
		return formats.ByName("folded"), nil
	}
	if f, _ := formats.ByExtension(c.Path); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("format: is required, as the extension of %q is not one of %s",
		filepath.Base(c.Path), strings.Join(formats.WrittenExtensions(), ", "))
}
