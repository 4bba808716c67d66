package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds of what can be asked for. Those of frequency and drain interval
// are the receiver's; here they are told apart as mistakes in usage.
const (
	MinFrequency = 1
	MaxFrequency = 9999
	MinDuration  = 100 * time.Millisecond
	MaxDuration  = 24 * time.Hour
	MinDrain     = 10 * time.Millisecond
	MaxDrain     = time.Minute
	// maxPID is PID_MAX_LIMIT of 64-bit kernels (include/linux/threads.h).
	maxPID     = 1 << 22
	maxTargets = 1024
	// A container ID has 64 hexadecimal digits, of which people give 12 or more.
	minContainerID = 12
	maxContainerID = 64
	maxOutputs     = 16
	maxMaxMiB      = 1024
)

// The defaults.
const (
	DefaultFrequency = 99
	DefaultDuration  = 30 * time.Second
	DefaultDrain     = time.Second
	DefaultType      = "cpu"
	DefaultLayout    = "icicle"
	DefaultDemangle  = "simple"
	DefaultMerge     = "process"
	// DefaultMaxMiB is the limit on the size of an SVG.
	DefaultMaxMiB = 8
)

// Options say what to record and where to write it.
type Options struct {
	// What to record; nothing: the whole host. All with their children.
	PIDs       []int
	Cgroups    []string // paths that begin with a slash
	Containers []string // IDs, at least 12 digits
	All        bool     // the whole host, said explicitly
	Command    []string

	// Duration 0 stands for DefaultDuration or, with Command, until it ends.
	Duration      time.Duration
	Frequency     int // Hz per CPU
	DrainInterval time.Duration
	Types         []string
	PerThread     bool
	Demangle      string
	NoInlines     bool

	Outputs       []string // "-" is standard output; empty: a default name
	Format        string   // empty: by the extension of each output
	Title         string
	Layout        string // of an SVG
	NoAnnotations bool
	MaxMiB        int    // of an SVG; 0: no limit
	Baseline      string // profile to compare with

	// What of the stacks is written, and how they are merged.
	Include, Exclude     string // regular expressions
	KernelOnly, UserOnly bool
	Idle                 bool
	Merge                string

	JSON    bool // the summary, on standard output
	Open    bool // show the result
	Quiet   bool
	Verbose bool

	watched bool // progress is shown on a terminal
}

// Formats lists the output formats.
func Formats() []string { return []string{"svg", "folded", "pprof", "speedscope"} }

// Validate returns all mistakes at once, each naming the flag.
func (o *Options) Validate() error {
	return errors.Join(
		o.validateTarget(),
		o.validateSampling(),
		o.validateView(),
		o.validateOutputs(),
	)
}

func (o *Options) validateTarget() error {
	var errs []error
	targets := len(o.PIDs) + len(o.Cgroups) + len(o.Containers)
	switch {
	case len(o.PIDs) > 0 && len(o.Command) > 0:
		errs = append(errs, errors.New("--pid and a command exclude each other"))
	case targets > 0 && len(o.Command) > 0:
		errs = append(errs, errors.New("--cgroup, --container and a command exclude each other"))
	case o.All && len(o.Command) > 0:
		errs = append(errs, errors.New("--all and a command exclude each other; in a second shell record the whole host"))
	case o.All && targets > 0:
		errs = append(errs, errors.New("--all and a choice of processes exclude each other"))
	}
	if len(o.PIDs) > maxTargets {
		errs = append(errs, fmt.Errorf("--pid: at most %d processes are possible, got %d", maxTargets, len(o.PIDs)))
	}
	for _, pid := range o.PIDs {
		if pid < 1 || pid > maxPID {
			errs = append(errs, fmt.Errorf("--pid must be between 1 and %d, got %d", maxPID, pid))
		}
	}
	for _, c := range o.Cgroups {
		if strings.Trim(c, "/") == "" || strings.ContainsRune(c, 0) {
			errs = append(errs, fmt.Errorf("--cgroup %q is not the path of a cgroup, such as /system.slice/nginx.service", c))
		}
	}
	for _, id := range o.Containers {
		if !isContainerID(id) {
			errs = append(errs, fmt.Errorf("--container %q is not %d to %d digits of a container ID, as docker ps or crictl ps shows it",
				id, minContainerID, maxContainerID))
		}
	}
	return errors.Join(errs...)
}

func isContainerID(id string) bool {
	return len(id) >= minContainerID && len(id) <= maxContainerID && strings.Trim(id, "0123456789abcdef") == ""
}

func (o *Options) validateSampling() error {
	var errs []error
	if o.Frequency < MinFrequency || o.Frequency > MaxFrequency {
		errs = append(errs, fmt.Errorf("--frequency must be between %d and %d Hz, got %d", MinFrequency, MaxFrequency, o.Frequency))
	}
	if d := o.Duration; d != 0 && (d < MinDuration || d > MaxDuration) {
		errs = append(errs, fmt.Errorf("--duration must be between %v and %v, got %v", MinDuration, span(MaxDuration), d))
	}
	if d := o.DrainInterval; d < MinDrain || d > MaxDrain {
		errs = append(errs, fmt.Errorf("--drain-interval must be between %v and %v, got %v", MinDrain, span(MaxDrain), d))
	}
	if !slices.Contains(DemangleStyles(), o.Demangle) {
		errs = append(errs, fmt.Errorf("--demangle %q is not one of %s", o.Demangle, strings.Join(DemangleStyles(), ", ")))
	}
	if len(o.Types) == 0 {
		errs = append(errs, errors.New("--type must not be empty"))
	}
	for i, t := range o.Types {
		if slices.Contains(o.Types[:i], t) {
			errs = append(errs, fmt.Errorf("--type %s is given twice", t))
		}
		if !slices.Contains(Kinds(), t) {
			errs = append(errs, fmt.Errorf("--type %q is not one of %s", t, strings.Join(Kinds(), ", ")))
		}
	}
	return errors.Join(errs...)
}

// DemangleStyles lists how names can be shown.
func DemangleStyles() []string { return []string{"simple", "full", "none"} }

// Merges lists what stacks can be merged by.
func Merges() []string { return []string{"process", "thread", "none"} }

func (o *Options) validateView() error {
	var errs []error
	for _, e := range []struct{ flag, text string }{{"--include", o.Include}, {"--exclude", o.Exclude}} {
		if _, err := regexp.Compile(e.text); err != nil {
			errs = append(errs, fmt.Errorf("%s %q: %w", e.flag, e.text, err))
		}
	}
	if o.KernelOnly && o.UserOnly {
		errs = append(errs, errors.New("--kernel and --user exclude each other; without them both are recorded"))
	}
	if !slices.Contains(Merges(), o.Merge) {
		errs = append(errs, fmt.Errorf("--merge %q is not one of %s", o.Merge, strings.Join(Merges(), ", ")))
	}
	if o.Quiet && o.Verbose {
		errs = append(errs, errors.New("--quiet and --verbose exclude each other"))
	}
	if o.JSON && slices.Contains(o.Outputs, stdoutPath) {
		errs = append(errs, errors.New("--json and --output - both need standard output; send the profile to a file"))
	}
	return errors.Join(errs...)
}

func (o *Options) validateOutputs() error {
	var errs []error
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		errs = append(errs, fmt.Errorf("--format %q is not one of %s", o.Format, strings.Join(Formats(), ", ")))
	}
	if o.Layout != "flame" && o.Layout != "icicle" {
		errs = append(errs, fmt.Errorf("--layout %q is not one of flame, icicle", o.Layout))
	}
	if o.MaxMiB < 0 || o.MaxMiB > maxMaxMiB {
		errs = append(errs, fmt.Errorf("--max-size must be between 0 (no limit) and %d MiB, got %d", maxMaxMiB, o.MaxMiB))
	}
	if o.Baseline != "" && len(o.Outputs) > 0 && compared(o.Outputs) < 0 {
		errs = append(errs, errors.New("--diff: give a file with --output, beside which the comparison is written"))
	}
	if strings.ContainsAny(o.Baseline, "{}") || o.Baseline == "previous" {
		errs = append(errs, fmt.Errorf("--diff %q: give the file under another name", o.Baseline))
	}
	if len(o.Outputs) > maxOutputs {
		errs = append(errs, fmt.Errorf("--output: at most %d are possible, got %d", maxOutputs, len(o.Outputs)))
	}
	for i, path := range o.Outputs {
		errs = append(errs, o.validateOutput(path), o.validateRoom(path))
		same := func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) }
		if path != "" && slices.ContainsFunc(o.Outputs[:i], same) {
			errs = append(errs, fmt.Errorf("--output %q is given twice", path))
		}
	}
	return errors.Join(errs...)
}

// compared is the index of the output beside which the comparison with a baseline
// is written, -1 if there is none.
func compared(paths []string) int {
	return slices.IndexFunc(paths, func(path string) bool { return path != stdoutPath && !isDevice(path) })
}

func (o *Options) validateOutput(path string) error {
	switch {
	case path == "":
		return errors.New("--output must not be empty; - is standard output")
	case strings.HasSuffix(path, "/"), strings.ContainsRune(path, 0):
		return fmt.Errorf("--output %q is not the name of a file", path)
	case strings.ContainsAny(path, "{}"):
		return fmt.Errorf("--output %q: braces are for the names that a collector makes", path)
	case !utf8.ValidString(path):
		return fmt.Errorf("--output %q is not UTF-8", path)
	case isFolder(path):
		return fmt.Errorf("--output %q is a folder; give the name of a file", path)
	case o.Format == "" && path != stdoutPath && formatByExtension(path) == "":
		return fmt.Errorf("--output %q: give --format, as the extension is not one of %s", path, strings.Join(knownExtensions(), " "))
	}
	return nil
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// validateRoom refuses a stream that has room for one kind only when there are
// several. Of one kind with several sample types it gets the first.
func (o *Options) validateRoom(path string) error {
	stream := path == stdoutPath || isDevice(path) && path != os.DevNull
	out := output{path: path, format: o.Format}
	if len(o.Types) < 2 || !stream || holdsAll(out.kind()) {
		return nil
	}
	return fmt.Errorf("--output %s: %s holds one kind, and --type asks for %d; give --format pprof or speedscope, which hold them all, or a file: then each kind has its own",
		path, out.kind(), len(o.Types))
}

// untilExit reports whether the recording ends with the command.
func (o *Options) untilExit() bool { return len(o.Command) > 0 && o.Duration == 0 }

// duration is how long to record at most; 0 if only the command ends it.
func (o *Options) duration() time.Duration {
	if o.Duration == 0 && !o.untilExit() {
		return DefaultDuration
	}
	return o.Duration
}

// The window is how often samples come from the receiver to the outputs. Each
// time costs a little, and between two times progress stands still.
const (
	minWindow   = time.Second
	maxWindow   = 10 * time.Second
	openWindow  = 5 * time.Second // of a recording whose length is not known
	windowShare = 10              // so many windows in a short recording
	seenWindow  = 2 * time.Second // if somebody looks at the progress line
)

// window is the length of the receiver's windows.
func (o *Options) window() time.Duration {
	w := openWindow
	if !o.untilExit() {
		w = min(max(o.duration()/windowShare, minWindow), maxWindow)
	}
	if o.watched {
		w = min(w, seenWindow)
	}
	return max(w, o.DrainInterval)
}
