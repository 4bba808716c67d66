package record

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/exporter"
	"github.com/flametel/flametel/receiver"
)

// valid are the options of the command line without flags.
func valid() Options {
	return Options{Frequency: DefaultFrequency, DrainInterval: DefaultDrain, Types: []string{DefaultType}, Layout: DefaultLayout, Demangle: DefaultDemangle, Merge: DefaultMerge, MaxMiB: DefaultMaxMiB}
}

func newSettings(t *testing.T) *Settings {
	t.Helper()
	return &Settings{
		Receiver: receiver.NewFactory().(xreceiver.Factory),
		Exporter: exporter.NewFactory().(xexporter.Factory),
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"defaults", func(*Options) {}, ""},
		{"frequency 0", func(o *Options) { o.Frequency = 0 }, "--frequency must be between 1 and 9999 Hz, got 0"},
		{"frequency -1", func(o *Options) { o.Frequency = -1 }, "--frequency must be between 1 and 9999 Hz, got -1"},
		{"frequency 100000", func(o *Options) { o.Frequency = 100_000 }, "--frequency must be between 1 and 9999 Hz, got 100000"},
		{"duration too short", func(o *Options) { o.Duration = time.Millisecond }, "--duration must be between 100ms and 24h, got 1ms"},
		{"duration too long", func(o *Options) { o.Duration = 25 * time.Hour }, "--duration must be between 100ms and 24h, got 25h0m0s"},
		{"drain interval", func(o *Options) { o.DrainInterval = time.Hour }, "--drain-interval must be between 10ms and 1m, got 1h0m0s"},
		{"type", func(o *Options) { o.Types = []string{"wall"} }, `--type "wall" is not one of cpu`},
		{"no type", func(o *Options) { o.Types = nil }, `--type must not be empty`},
		{"format", func(o *Options) { o.Format = "png" }, `--format "png" is not one of svg, folded, pprof, speedscope`},
		{"layout", func(o *Options) { o.Layout = "round" }, `--layout "round" is not one of flame, icicle`},
		{"pid", func(o *Options) { o.PIDs = []int{0} }, "--pid must be between 1 and 4194304, got 0"},
		{"pids and command", func(o *Options) { o.PIDs, o.Command = []int{1}, []string{"x"} }, "--pid and a command exclude each other"},
		{"too many pids", func(o *Options) { o.PIDs = make([]int, 2000) }, "--pid: at most 1024 processes are possible, got 2000"},
		{"cgroup", func(o *Options) { o.Cgroups = []string{"/"} }, `--cgroup "/" is not the path of a cgroup, such as /system.slice/nginx.service`},
		{"container", func(o *Options) { o.Containers = []string{"web"} }, `--container "web" is not 12 to 64 digits of a container ID, as docker ps or crictl ps shows it`},
		{"container and command", func(o *Options) { o.Containers, o.Command = []string{"0123456789ab"}, []string{"x"} }, "--cgroup, --container and a command exclude each other"},
		{"all and pids", func(o *Options) { o.All, o.PIDs = true, []int{1} }, "--all and a choice of processes exclude each other"},
		{"all and command", func(o *Options) { o.All, o.Command = true, []string{"x"} }, "--all and a command exclude each other; in a second shell record the whole host"},
		{"several kinds of targets", func(o *Options) { o.PIDs, o.Cgroups, o.Containers = []int{1}, []string{"/a"}, []string{"0123456789ab"} }, ""},
		{"include", func(o *Options) { o.Include = "a(" }, "--include \"a(\": error parsing regexp: missing closing ): `a(`"},
		{"exclude", func(o *Options) { o.Exclude = "[z-a]" }, "--exclude \"[z-a]\": error parsing regexp: invalid character class range: `z-a`"},
		{"kernel and user", func(o *Options) { o.KernelOnly, o.UserOnly = true, true }, "--kernel and --user exclude each other; without them both are recorded"},
		{"max size", func(o *Options) { o.MaxMiB = -1 }, "--max-size must be between 0 (no limit) and 1024 MiB, got -1"},
		{"diff without a file", func(o *Options) { o.Baseline, o.Outputs = "a.svg", []string{"-"} }, "--diff: give a file with --output, beside which the comparison is written"},
		{"diff with braces", func(o *Options) { o.Baseline = "{host}.svg" }, `--diff "{host}.svg": give the file under another name`},
		{"merge", func(o *Options) { o.Merge = "host" }, `--merge "host" is not one of process, thread, none`},
		{"demangle", func(o *Options) { o.Demangle = "short" }, `--demangle "short" is not one of simple, full, none`},
		{"quiet and verbose", func(o *Options) { o.Quiet, o.Verbose = true, true }, "--quiet and --verbose exclude each other"},
		{"two things on standard output", func(o *Options) { o.JSON, o.Outputs = true, []string{"-"} }, "--json and --output - both need standard output; send the profile to a file"},
		{"several kinds on standard output", func(o *Options) { o.Types, o.Outputs = []string{"off_cpu", "syscalls"}, []string{"-"} }, "--output -: folded holds one kind, and --type asks for 2; give --format pprof or speedscope, which hold them all, or a file: then each kind has its own"},
		{"several kinds on a device", func(o *Options) {
			o.Types, o.Outputs, o.Format = []string{"off_cpu", "syscalls"}, []string{"/dev/stdout"}, "svg"
		}, "--output /dev/stdout: svg holds one kind"},
		{"several kinds that fit", func(o *Options) {
			o.Types, o.Outputs, o.Format = []string{"off_cpu", "syscalls"}, []string{"-"}, "pprof"
		}, ""},
		{"several kinds to nowhere", func(o *Options) {
			o.Types, o.Outputs, o.Format = []string{"off_cpu", "syscalls"}, []string{"/dev/null"}, "svg"
		}, ""},
		{"one kind on standard output", func(o *Options) { o.Types, o.Outputs = []string{"off_cpu"}, []string{"-"} }, ""},
		{"empty output", func(o *Options) { o.Outputs = []string{""} }, "--output must not be empty; - is standard output"},
		{"folder", func(o *Options) { o.Outputs = []string{"x/"} }, `--output "x/" is not the name of a file`},
		{"braces", func(o *Options) { o.Outputs = []string{"x{type}.svg"} }, `--output "x{type}.svg": braces are for the names that a collector makes`},
		{"not UTF-8", func(o *Options) { o.Outputs = []string{"\xff.svg"} }, `--output "\xff.svg" is not UTF-8`},
		{"extension", func(o *Options) { o.Outputs = []string{"x.png"} }, `--output "x.png": give --format, as the extension is not one of .svg .folded .txt .pb.gz .pprof .speedscope.json`},
		{"extension with format", func(o *Options) { o.Outputs, o.Format = []string{"x.png"}, "svg" }, ""},
		{"twice", func(o *Options) { o.Outputs = []string{"-", "a.svg", "-"} }, `--output "-" is given twice`},
		{"twice by other names", func(o *Options) { o.Outputs = []string{"a.svg", "./a.svg"} }, `--output "./a.svg" is given twice`},
		{"too many", func(o *Options) { o.Outputs = strings.Fields(strings.Repeat("- ", 17)) }, "--output: at most 16 are possible, got 17"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := valid()
			test.change(&o)
			err := o.Validate()
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestAllMistakesAreToldAtOnce(t *testing.T) {
	t.Parallel()
	o := valid()
	o.Frequency, o.Format, o.PIDs = 0, "png", []int{-1}
	err := o.Validate()
	for _, flag := range []string{"--frequency", "--format", "--pid"} {
		assert.ErrorContains(t, err, flag)
	}
}

// What passes here must pass the receiver, and what does not must not.
func TestBoundsAreTheReceivers(t *testing.T) {
	t.Parallel()
	s := newSettings(t)
	for _, test := range []struct {
		name   string
		change func(*Options)
		ok     bool
	}{
		{"lowest frequency", func(o *Options) { o.Frequency = MinFrequency }, true},
		{"below", func(o *Options) { o.Frequency = MinFrequency - 1 }, false},
		{"highest frequency", func(o *Options) { o.Frequency = MaxFrequency }, true},
		{"above", func(o *Options) { o.Frequency = MaxFrequency + 1 }, false},
		{"shortest drain", func(o *Options) { o.DrainInterval = MinDrain }, true},
		{"shorter", func(o *Options) { o.DrainInterval = MinDrain - 1 }, false},
		{"longest drain", func(o *Options) { o.DrainInterval = MaxDrain }, true},
		{"longer", func(o *Options) { o.DrainInterval = MaxDrain + 1 }, false},
		{"shortest recording", func(o *Options) { o.Duration = MinDuration }, true},
		{"longest recording", func(o *Options) { o.Duration = MaxDuration }, true},
		{"command", func(o *Options) { o.Command = []string{"x"} }, true},
		{"highest pid", func(o *Options) { o.PIDs = []int{maxPID} }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := valid()
			test.change(&o)
			require.Equal(t, test.ok, o.Validate() == nil)
			assert.Equal(t, test.ok, o.receiverConfig(s.Receiver, o.PIDs).Validate() == nil)
		})
	}
}

func TestDurationAndWindow(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name            string
		duration        time.Duration
		command         []string
		drain           time.Duration
		length, window  time.Duration
		endsWithCommand bool
	}{
		{name: "host", length: 30 * time.Second, window: 3 * time.Second},
		{name: "short", duration: time.Second, length: time.Second, window: time.Second},
		{name: "long", duration: time.Hour, length: time.Hour, window: 10 * time.Second},
		{name: "command", command: []string{"x"}, window: 5 * time.Second, endsWithCommand: true},
		{name: "command for a time", command: []string{"x"}, duration: 20 * time.Second, length: 20 * time.Second, window: 2 * time.Second},
		{name: "long drain", drain: time.Minute, length: 30 * time.Second, window: time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := valid()
			o.Duration, o.Command = test.duration, test.command
			o.DrainInterval = max(test.drain, DefaultDrain)
			assert.Equal(t, test.length, o.duration())
			assert.Equal(t, test.window, o.window())
			assert.Equal(t, test.endsWithCommand, o.untilExit())
		})
	}
}
