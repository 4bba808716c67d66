package record

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/tally"
	"github.com/flametel/flametel/receiver"
)

// kind is something that can be recorded.
type kind struct {
	name string // as in --type and in the configuration of the receiver
	// types are the sample types that come of it. The first is the one that the
	// picture is of whose name has no type.
	types []string
	// counted is the sample type that counts events, which are called one or many.
	counted, one, many string
	enable             func(*receiver.Config)
}

func kinds() []kind {
	return []kind{
		{"cpu", []string{"cpu"}, "cpu", "sample", "samples", func(c *receiver.Config) { c.CPU.Enabled = true }},
		{"off_cpu", []string{"off_cpu", "events"}, "events", "wait", "waits", func(c *receiver.Config) { c.OffCPU.GetOrInsertDefault() }},
		{"syscalls", []string{"syscalls", "syscall_time"}, "syscalls", "call", "calls", func(c *receiver.Config) { c.Syscalls.GetOrInsertDefault() }},
		{"file_opens", []string{"opens", "open_time"}, "opens", "open", "opens", func(c *receiver.Config) { c.FileOpens.GetOrInsertDefault() }},
		{"file_reads", []string{"reads", "read_time", "read_bytes"}, "reads", "read", "reads", func(c *receiver.Config) { c.FileReads.GetOrInsertDefault() }},
		{"page_faults", []string{"faults"}, "faults", "page fault", "page faults", func(c *receiver.Config) { c.PageFaults.GetOrInsertDefault() }},
		{"lock_contention", []string{"waits", "wait_time"}, "waits", "wait", "waits", func(c *receiver.Config) { c.LockContention.GetOrInsertDefault() }},
		{"kernel_allocations", []string{"allocations", "allocated", "requested"}, "allocations", "allocation", "allocations", func(c *receiver.Config) { c.KernelAllocations.GetOrInsertDefault() }},
		{"tcp_retransmits", []string{"retransmits"}, "retransmits", "segment", "segments", func(c *receiver.Config) { c.TCPRetransmits.GetOrInsertDefault() }},
	}
}

// meanings are what files of the sample types show.
var meanings = map[string]string{
	"cpu": "CPU time", "off_cpu": "time of waits", "events": "number of waits",
	"syscalls": "number of calls", "syscall_time": "time of calls",
	"opens": "number of opens", "open_time": "time of opens",
	"reads": "number of reads", "read_time": "time of reads", "read_bytes": "bytes read",
	"faults": "number of page faults", "waits": "number of waits for locks", "wait_time": "time of waits for locks",
	"allocations": "number of allocations", "allocated": "bytes allocated", "requested": "bytes asked for",
	"retransmits": "number of segments sent again",
}

// titles are of sample types whose names do not say what they are of.
var titles = map[string]string{"events": "off_cpu events flame graph"}

// shows is what a file with one of several sample types shows, for the end of a
// line.
func (o *output) shows() string {
	if text := meanings[o.sampleType]; text != "" {
		return ": " + text
	}
	return ""
}

// Kinds lists the profile kinds that can be recorded.
func Kinds() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// chosen are the kinds that are recorded, as they were asked for. Options must be
// valid.
func (o *Options) chosen() (list []kind) {
	all := kinds()
	for _, name := range o.Types {
		if i := slices.IndexFunc(all, func(k kind) bool { return k.name == name }); i >= 0 {
			list = append(list, all[i])
		}
	}
	return list
}

// onlyCPU: nothing but CPU time is recorded.
func (o *Options) onlyCPU() bool { return len(o.Types) == 1 && o.Types[0] == DefaultType }

// sampleTypes are all types that come of the kinds, those of the first kind first.
func (o *Options) sampleTypes() (list []string) {
	for _, k := range o.chosen() {
		list = append(list, k.types...)
	}
	return list
}

// tally returns what was counted of a kind, and what the profiler accounts for.
func (k *kind) tally(t *tally.Tally) *tally.Kind {
	counted := t.Kind(k.counted)
	if counted.Accounting == nil {
		counted.Accounting = t.Kind(k.types[0]).Accounting
	}
	return counted
}

// shown is what was added up of the sample type that the main picture is of.
func (k *kind) shown(t *tally.Tally) *tally.Kind { return t.Kind(k.types[0]) }

// by says by what functions are sorted in the picture and in the summary.
func (k *kind) by() string {
	switch {
	case k.name == DefaultType:
		return "by self time"
	case k.types[0] != k.counted:
		return "by time"
	}
	return "of " + k.many
}

// expand gives each sample type a file of its own, in formats that hold one type.
// The first type of the first kind has the file that was asked for. Others of one kind
// stand beside it: NAME-TYPE.svg. Of several kinds their names have the kind:
// NAME-KIND.svg for its first type, NAME-KIND-TYPE.svg for others.
func (o *Options) expand(out output) []output {
	chosen := o.chosen()
	out.sampleType = ""
	if holdsAll(out.kind()) || len(o.sampleTypes()) < 2 {
		return []output{out}
	}
	if out.path == stdoutPath || isDevice(out.path) {
		out.sampleType = chosen[0].types[0]
		return []output{out}
	}
	var list []output
	for _, k := range chosen {
		main := out.path
		if len(chosen) > 1 {
			main = typedPath(out.path, k.name)
		}
		for i, t := range k.types {
			typed := output{path: main, format: out.format, sampleType: t}
			if i > 0 {
				typed.path = typedPath(main, t)
			}
			list = append(list, typed)
		}
	}
	list[0].path, list[0].twin, list[0].reserved = out.path, out.twin, out.reserved
	return list
}

// holdsAll: a file of the format holds several sample types.
func holdsAll(format string) bool { return format == "pprof" || format == "speedscope" }

// typedPath puts a kind or type before the extension.
func typedPath(path, part string) string {
	for _, k := range knownFormats() {
		if stem, found := strings.CutSuffix(path, k.extension); found {
			return stem + "-" + part + k.extension
		}
	}
	return path + "-" + part
}

// present are the outputs that were written: a type without samples has no file.
func (r *recording) present() (list []output) {
	for _, out := range r.outputs {
		if _, err := os.Stat(out.path); out.failed != nil || err != nil && out.sampleType != "" && out.path != stdoutPath {
			continue
		}
		list = append(list, out)
	}
	return list
}

// how is what is recorded and how often: "at 99 Hz", or the kinds.
func (o *Options) how() string {
	if o.onlyCPU() {
		return fmt.Sprintf("at %d Hz", o.Frequency)
	}
	text := "(" + strings.Join(o.Types, ", ")
	if slices.Contains(o.Types, DefaultType) {
		text += fmt.Sprintf(" at %d Hz", o.Frequency)
	}
	return text + ")"
}

// others are lines about the kinds besides the first.
func (r *recording) others() (lines []string) {
	for _, k := range r.chosen()[1:] {
		t := k.tally(r.pipeline.tally)
		text := fmt.Sprintf("%s: %s", k.name, figures.Counted(t.Total, k.one, k.many))
		if n := t.Processes(); n > 0 {
			text += " from " + figures.Counted(int64(n), "process", "processes") + ", " + figures.Counted(int64(t.Stacks()), "stack", "stacks")
		}
		if a := t.Accounting; a != nil {
			text += fmt.Sprintf("; %s lost", figures.Grouped(a.Lost))
			if a.Lost > 0 {
				text += causes(a.LostBy())
			}
			text += estimated(a)
		}
		lines = append(lines, text)
	}
	return lines
}
