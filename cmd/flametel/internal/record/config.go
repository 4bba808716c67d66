package record

import (
	"cmp"
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/exporter/choose"
	"github.com/flametel/flametel/receiver"
)

// receiverConfig is the configuration of the receiver. Pids are the targets.
func (o *Options) receiverConfig(f xreceiver.Factory, pids []int) *receiver.Config {
	cfg := f.CreateDefaultConfig().(*receiver.Config)
	cfg.Window = o.window()
	cfg.DrainInterval = o.DrainInterval
	cfg.CPU.Frequency = o.Frequency
	cfg.CPU.Enabled = false
	for _, k := range o.chosen() {
		k.enable(cfg)
	}
	cfg.Targets.PIDs = pids
	cfg.Targets.FromExec = len(o.Command) > 0 && len(pids) > 0 // a printed configuration names no process
	for _, c := range o.Cgroups {
		cfg.Targets.Cgroups = append(cfg.Targets.Cgroups, cgroupPath(c))
	}
	cfg.Targets.Cgroups = append(cfg.Targets.Cgroups, o.Containers...)
	cfg.PerThread = o.PerThread
	cfg.Symbols.Demangle = o.Demangle
	cfg.Symbols.Inlines = !o.NoInlines
	return cfg
}

// cgroupRoot is where systems mount the tree of cgroups.
const cgroupRoot = "/sys/fs/cgroup"

// cgroupPath is the path of a cgroup within the tree, which people also give
// with the folder in which the tree is mounted, or without the first slash.
func cgroupPath(c string) string { return inTree(c, append(CgroupRoots(), cgroupRoot)) }

// inTree takes the first of the folders in which a tree is mounted off a path.
func inTree(c string, roots []string) string {
	for _, root := range roots {
		if inside, found := strings.CutPrefix(c, root+"/"); found {
			c = inside
			break
		}
	}
	return "/" + strings.Trim(c, "/")
}

// frames is the part of stacks that is written.
func (o *Options) frames() choose.Frames {
	switch {
	case o.KernelOnly:
		return choose.Kernel
	case o.UserOnly:
		return choose.User
	}
	return choose.All
}

// choice is what is written of what is recorded. Options must be valid.
func (o *Options) choice() *choose.Choice {
	c := &choose.Choice{Frames: o.frames()}
	if o.Include != "" {
		c.Include = regexp.MustCompile(o.Include)
	}
	if o.Exclude != "" {
		c.Exclude = regexp.MustCompile(o.Exclude)
	}
	return c
}

// writeOnce is an interval that no recording reaches, so that a file is written
// at the end. Without one the exporter would rewrite it all the time, which
// costs more than profiling.
const writeOnce = 2 * MaxDuration

// exporterConfig is the configuration of the exporter for one output.
func (o *Options) exporterConfig(f xexporter.Factory, out *output) *exporter.Config {
	cfg := f.CreateDefaultConfig().(*exporter.Config)
	cfg.Path = out.path
	cfg.Format = out.format
	cfg.SampleType = out.sampleType
	cfg.Interval = writeOnce
	if out.path == stdoutPath {
		cfg.Interval = 0 // it is written once as it is
	}
	cfg.MaxFiles = 0 // nothing of the user's is ever removed
	cfg.Title = cmp.Or(o.Title, titles[out.sampleType])
	cfg.Layout = o.Layout
	cfg.MaxSizeMiB = o.MaxMiB
	if out.twin != "" {
		cfg.Baseline = o.Baseline
	}
	cfg.Annotations = !o.NoAnnotations
	cfg.Include, cfg.Exclude, cfg.Frames = o.Include, o.Exclude, string(o.frames())
	cfg.Merge = o.Merge
	if o.PerThread && o.Merge == DefaultMerge {
		cfg.Merge = "thread" // else they would be merged again
	}
	cfg.Idle = o.Idle
	return cfg
}
