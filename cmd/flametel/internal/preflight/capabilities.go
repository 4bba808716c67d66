package preflight

import (
	"slices"
	"strconv"
	"strings"
)

// Capability is a right that a process can hold (capabilities(7)).
type Capability struct {
	bit  int // include/uapi/linux/capability.h
	Name string
	// Without says what is lost without it.
	Without string
	// Needed: nothing works without it.
	Needed bool
}

// Capabilities lists what sampling a whole host takes, the needed ones first.
func Capabilities() []Capability {
	return []Capability{
		{39, "CAP_BPF", "nothing can be sampled", true},
		{38, "CAP_PERFMON", "nothing can be sampled", true},
		{19, "CAP_SYS_PTRACE", "programs of other users have no names", false},
		{2, "CAP_DAC_READ_SEARCH", "programs that only their owner may read have no names", false},
		{34, "CAP_SYSLOG", "kernel functions have no names", false},
		{40, "CAP_CHECKPOINT_RESTORE", "programs that were deleted or replaced have no names", false},
	}
}

// sysAdmin stands for CAP_BPF, CAP_PERFMON and CAP_CHECKPOINT_RESTORE, which
// were split off it in Linux 5.8 and 5.9.
const sysAdmin = 21

func (c Capability) heldIn(set uint64) bool {
	if set&(1<<c.bit) != 0 {
		return true
	}
	return c.bit >= 38 && set&(1<<sysAdmin) != 0
}

// Missing are the capabilities that the process lacks, those that are needed or
// the others.
func (h *Host) Missing(needed bool) []Capability {
	return slices.DeleteFunc(Capabilities(), func(c Capability) bool {
		return c.Needed != needed || c.heldIn(h.Effective)
	})
}

// Held are those of Capabilities that the process has.
func (h *Host) Held() []Capability {
	return slices.DeleteFunc(Capabilities(), func(c Capability) bool { return !c.heldIn(h.Effective) })
}

func names(list []Capability) string {
	if len(list) == 0 {
		return "none"
	}
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.Name
	}
	return strings.Join(texts, ", ")
}

// short are all names as container runtimes write them: BPF.
func short() []string {
	var list []string
	for _, c := range Capabilities() {
		list = append(list, strings.TrimPrefix(c.Name, "CAP_"))
	}
	return list
}

// effective finds the set CapEff in the text of /proc/PID/status.
func effective(status string) uint64 {
	set, err := strconv.ParseUint(field(status, "CapEff:"), 16, 64)
	if err != nil {
		return 0
	}
	return set
}

// field is the value of a line of /proc/PID/status.
func field(status, key string) string {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
