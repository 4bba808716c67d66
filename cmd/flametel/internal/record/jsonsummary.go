package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/cmd/flametel/internal/version"
)

// Report is the summary of a recording for programs. Fields may be added; those
// that are here keep their meaning. All counts are samples unless they say
// otherwise.
type Report struct {
	Version string   `json:"version"` // of flametel
	Command []string `json:"command"` // the command line
	// Ended says why the recording ended: time, command, signal or error.
	Ended    string   `json:"ended"`
	Signal   string   `json:"signal,omitempty"`
	ExitCode int      `json:"exit_code"`
	Outputs  []Output `json:"outputs"`
	// Seconds is the time that the samples cover, Phases what else took time.
	Seconds float64   `json:"seconds"`
	Phases  []Seconds `json:"phases"`
	// OwnCPUSeconds is the CPU time that flametel used.
	OwnCPUSeconds float64 `json:"own_cpu_seconds"`

	Type      string `json:"type"`
	Samples   int64  `json:"samples"` // in the outputs
	Stacks    int    `json:"stacks"`
	Processes int    `json:"processes"`
	// Others are the kinds of profiles besides Type.
	Others []Kind `json:"others,omitempty"`
	// Accounting is what the profiler says; nil if it says nothing.
	Accounting *Accounting `json:"accounting,omitempty"`
	// TopOf is the sample type that the main picture is of, which all that follows
	// is counted in.
	TopOf string     `json:"top_of"`
	Top   []Function `json:"top"`
	// Frames and UnknownFrames count inlined calls too, as the picture does.
	Frames        int64 `json:"frames"`
	UnknownFrames int64 `json:"unknown_frames"`
	// Unknown are the files with the most frames that have no name.
	Unknown []Module `json:"unknown"`
}

// Output is a file that was written.
type Output struct {
	Path   string `json:"path"`
	Format string `json:"format"`
	Bytes  int64  `json:"bytes"` // 0 if it is not a file
}

// Kind is what was counted of a kind of profile.
type Kind struct {
	Type      string `json:"type"`
	Samples   int64  `json:"samples"`
	Stacks    int    `json:"stacks"`
	Processes int    `json:"processes"`
	Lost      int64  `json:"lost"`
	// StandFor and Error are those of Accounting.
	StandFor int64   `json:"stand_for,omitempty"`
	Error    float64 `json:"standard_error,omitempty"`
}

// Seconds is how long a part of the work took.
type Seconds struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
}

// Accounting says what became of the samples: Taken = Kept + Idle + Filtered +
// Lost, and Kept holds LeftOut.
type Accounting struct {
	Taken    int64            `json:"taken"`
	Kept     int64            `json:"kept"`
	LeftOut  int64            `json:"left_out"` // by --include, --exclude, --kernel, --user
	Idle     int64            `json:"idle"`
	Filtered int64            `json:"filtered"`
	Lost     int64            `json:"lost"`
	LostBy   map[string]int64 `json:"lost_by"`
	Missed   int64            `json:"missed"` // never taken

	// StandFor is how many events Kept stands for, and Error the standard error of
	// what they add up to, relative to it; 0 if none were chosen by chance.
	StandFor int64   `json:"stand_for,omitempty"`
	Error    float64 `json:"standard_error,omitempty"`

	Frames          int64 `json:"frames"` // each once for every sample
	UnknownFrames   int64 `json:"unknown_frames"`
	TruncatedStacks int64 `json:"truncated_stacks"`
	// UserStacks are samples with a stack of user code, CompleteStacks those of
	// them that reach the start of the thread; IncompleteBy says why others do not.
	UserStacks     int64            `json:"user_stacks"`
	CompleteStacks int64            `json:"complete_stacks"`
	IncompleteBy   map[string]int64 `json:"incomplete_by"`

	HertzAsked    float64 `json:"hertz_asked"`    // per CPU
	HertzAchieved float64 `json:"hertz_achieved"` // per CPU
	CPUs          int64   `json:"cpus"`
}

// Function is where samples ended.
type Function struct {
	Name    string  `json:"name"`
	Kind    string  `json:"kind"`
	Self    int64   `json:"self"`
	Percent float64 `json:"percent"`
}

// Module is a file with the number of its frames that have no name.
type Module struct {
	Name   string `json:"name"`
	Frames int64  `json:"frames"`
}

// jsonFunctions is how many functions and modules the report names.
const jsonFunctions = 20

// printJSON writes the report on a line of standard output, if it is asked for.
func (r *recording) printJSON(code int) error {
	if !r.JSON {
		return nil
	}
	enc := json.NewEncoder(r.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(r.report(code))
}

func (r *recording) report(code int) *Report {
	k := r.counted()
	rep := &Report{
		Version: version.Version, Command: valid8(r.Args), ExitCode: code,
		Outputs: []Output{}, Phases: []Seconds{}, Top: []Function{}, Unknown: []Module{},
		Seconds: r.covered(k).Seconds(), OwnCPUSeconds: OwnCPU().Seconds(),
		Type: r.Types[0], Samples: k.Total, Stacks: k.Stacks(), Processes: k.Processes(),
	}
	rep.Ended, rep.Signal = r.why()
	for _, o := range r.present() {
		rep.Outputs = append(rep.Outputs, reported(o.path, o.kind()))
		if files := o.files(); len(files) > 1 {
			rep.Outputs = append(rep.Outputs, reported(files[1], "svg"))
		}
	}
	for _, other := range r.chosen()[1:] {
		t := other.tally(r.pipeline.tally)
		one := Kind{Type: other.name, Samples: t.Total, Stacks: t.Stacks(), Processes: t.Processes()}
		if t.Accounting != nil {
			one.Lost, one.StandFor, one.Error = t.Accounting.Lost, t.Accounting.StandFor, t.Accounting.Error()
		}
		rep.Others = append(rep.Others, one)
	}
	for _, p := range r.phases {
		rep.Phases = append(rep.Phases, Seconds{p.what, p.took.Round(time.Microsecond).Seconds()})
	}
	first := r.first()
	shown := first.shown(r.pipeline.tally)
	rep.TopOf, rep.Frames, rep.UnknownFrames = first.types[0], shown.Frames, shown.UnknownFrames
	for _, s := range shown.Top(jsonFunctions) {
		rep.Top = append(rep.Top, Function{s.Name, s.Kind, s.Self, 100 * float64(s.Self) / float64(shown.Total)})
	}
	for _, m := range shown.Unknown(jsonFunctions) {
		rep.Unknown = append(rep.Unknown, Module{m.Name, m.Frames})
	}
	if k.Accounting != nil {
		rep.Accounting = accounted(k.Accounting)
	}
	return rep
}

// why says why the recording ended, and by which signal.
func (r *recording) why() (ended, signal string) {
	switch {
	case r.ended.err != nil:
		return "error", ""
	case r.ended.signal != nil:
		if s, ok := r.ended.signal.(syscall.Signal); ok {
			signal = s.String()
		}
		return "signal", signal
	case r.command != nil && r.untilExit():
		return "command", ""
	}
	return "time", ""
}

func accounted(a *tally.Accounting) *Accounting {
	out := &Accounting{
		Taken: a.Taken, Kept: a.Kept, LeftOut: a.LeftOut, Idle: a.Idle, Filtered: a.Filtered, Lost: a.Lost,
		LostBy: map[string]int64{}, Missed: a.Missed, Frames: a.Frames, UnknownFrames: a.UnknownFrames,
		UserStacks: a.UserStacks, CompleteStacks: a.CompleteStacks, IncompleteBy: map[string]int64{},
		StandFor: a.StandFor, Error: a.Error(),
		TruncatedStacks: a.TruncatedStacks, HertzAsked: a.Asked, HertzAchieved: a.Achieved, CPUs: a.CPUs,
	}
	for _, l := range a.LostBy() {
		out.LostBy[l.Cause] = l.Count
	}
	for _, l := range a.IncompleteBy() {
		out.IncompleteBy[l.Cause] = l.Count
	}
	return out
}

// reported describes a file.
func reported(path, format string) Output {
	out := Output{Path: path, Format: format}
	if path == stdoutPath {
		return out
	}
	if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
		out.Bytes = st.Size()
	}
	if abs, err := filepath.Abs(path); err == nil {
		out.Path = abs
	}
	out.Path = strings.ToValidUTF8(out.Path, "\ufffd")
	return out
}

// valid8 makes strings valid UTF-8, as JSON has to be.
func valid8(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToValidUTF8(s, "\ufffd")
	}
	return out
}
