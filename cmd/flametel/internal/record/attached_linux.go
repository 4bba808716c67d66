package record

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// attachments counts, by kind, what this process has attached to the kernel.
type attachments map[string]int

// attached looks at our own file descriptors, so that it names what is really
// there and not what we believe. One that vanishes meanwhile does not count.
func attached() attachments {
	a := attachments{}
	const folder = "/proc/self/fd"
	entries, err := os.ReadDir(folder)
	if err != nil {
		return a
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(folder, e.Name()))
		if err != nil {
			continue
		}
		info, _ := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		if kind := attachmentKind(target, string(info)); kind != "" {
			a[kind]++
		}
	}
	return a
}

// attachmentKind names what a file descriptor stands for, "" if it is nothing
// that is attached. The texts are those of bpf_link_show_fdinfo and
// perf_event's anonymous inode.
func attachmentKind(target, info string) string {
	field := func(key string) string {
		for line := range strings.Lines(info) {
			if value, found := strings.CutPrefix(line, key+":"); found {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	switch {
	case strings.Contains(target, "[perf_event]"):
		return "perf event"
	case strings.Contains(target, "bpf_link") || strings.Contains(target, "bpf-link"):
		kind := strings.ReplaceAll(field("link_type"), "_", " ")
		if name := field("tp_name"); name != "" {
			kind += " " + name
		}
		return "BPF link (" + kind + ")"
	case strings.Contains(target, "bpf-prog"):
		return "BPF program"
	case strings.Contains(target, "bpf-map"):
		return "BPF map"
	}
	return ""
}

// since leaves out what was there before.
func (a attachments) since(before attachments) attachments {
	out := attachments{}
	for kind, n := range a {
		if n -= before[kind]; n > 0 {
			out[kind] = n
		}
	}
	return out
}

// String lists them in the order of their names.
func (a attachments) String() string {
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(a)) {
		list = append(list, fmt.Sprintf("%d %s", a[kind], plural(kind, a[kind])))
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

func plural(kind string, n int) string {
	if n == 1 {
		return kind
	}
	if head, tail, found := strings.Cut(kind, " ("); found {
		return head + "s (" + tail
	}
	return kind + "s"
}
