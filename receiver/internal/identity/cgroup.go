package identity

import (
	"iter"
	"strings"
)

// Cgroup is what the cgroup membership of a process tells.
type Cgroup struct {
	// ID is the container, "" outside containers: the 64 hexadecimal digits of
	// Docker, containerd, CRI-O and Podman, or the name that LXC, systemd-nspawn
	// and others use as identity.
	ID string
	// Path is the path in the unified hierarchy if that tells the container or
	// if no other hierarchy does, else the path that does. "" if nothing is
	// known.
	Path string
}

// maxHierarchies bounds the lines that are read. Linux has 14 version 1
// controllers at most, and named hierarchies are rare.
const maxHierarchies = 64

// FromCgroup reads the contents of /proc/PID/cgroup.
func FromCgroup(text string) Cgroup {
	var best Cgroup
	bestRank := -1
	for controllers, path := range memberships(text) {
		c := Cgroup{ID: containerID(path), Path: path}
		if r := rank(c, controllers); r > bestRank {
			best, bestRank = c, r
		}
	}
	return best
}

// InCgroup tells from the contents of /proc/PID/cgroup whether a process is in a
// cgroup or below it, in any hierarchy. The path begins with a slash and ends
// without one; "" is the root.
func InCgroup(text, cgroup string) bool {
	for _, path := range memberships(text) {
		if path == cgroup || strings.HasPrefix(path, cgroup+"/") {
			return true
		}
	}
	return false
}

// memberships are the hierarchies, by their controllers, and the path in each.
// Each line is hierarchy-ID:controllers:path, and that of version 2 begins with
// "0::" (cgroups(7)).
func memberships(text string) iter.Seq2[string, string] {
	return func(yield func(controllers, path string) bool) {
		for range maxHierarchies {
			line, rest, more := strings.Cut(text, "\n")
			if controllers, path, ok := parseLine(line); ok && !yield(controllers, path) || !more {
				return
			}
			text = rest
		}
	}
}

func parseLine(line string) (controllers, path string, ok bool) {
	_, line, _ = strings.Cut(line, ":")
	controllers, path, ok = strings.Cut(line, ":")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", "", false
	}
	// A cgroup that was removed while the process is still in it.
	return controllers, strings.TrimSuffix(path, " (deleted)"), true
}

// rank says how much a line is worth: one with a container before one without,
// then the unified hierarchy, then that of systemd, then any path but the root.
func rank(c Cgroup, controllers string) int {
	r := 0
	if c.ID != "" {
		r += 8
	}
	if c.Path != "/" {
		r += 4
	}
	switch controllers {
	case "":
		r += 2
	case "name=systemd":
		r++
	}
	return r
}

// containerID finds the innermost container in a path: with Kubernetes in
// Docker (kind) there are two, and below a container that runs systemd follow
// more cgroups.
func containerID(path string) string {
	id, parent := "", ""
	for segment := range strings.SplitSeq(path, "/") {
		if found := segmentID(segment, parent); found != "" {
			id = found
		}
		parent = segment
	}
	return id
}

// segmentID returns the container that one path segment names.
func segmentID(segment, parent string) string {
	name := strings.TrimSuffix(segment, ".scope")
	// containerd with the systemd driver but a cgroupfs parent writes
	// "kubepods-...-pod<uid>.slice:cri-containerd:<id>".
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		name = name[i+1:]
	}
	if isContainerHex(name) {
		return name
	}
	if i := strings.LastIndexByte(name, '-'); i >= 0 && isContainerHex(name[i+1:]) {
		// docker-, cri-containerd-, crio-, libpod-; but the monitor of a
		// container (crio-conmon-, libpod-conmon-) runs outside of it.
		if strings.HasSuffix(name[:i], "conmon") {
			return ""
		}
		return name[i+1:]
	}
	return namedID(segment, parent)
}

// namedID knows the managers whose containers have names or other identifiers.
func namedID(segment, parent string) string {
	switch parent {
	case "lxc", "lxc.payload":
		return segment
	case "garden", "mesos":
		if isUUID(segment) {
			return segment
		}
	}
	if name, ok := strings.CutPrefix(segment, "lxc.payload."); ok {
		return name
	}
	if name, ok := cutAround(segment, "systemd-nspawn@", ".service"); ok {
		return unescapeUnit(name)
	}
	if name, ok := cutAround(segment, "machine-", ".scope"); ok && parent == "machine.slice" {
		name = unescapeUnit(name)
		if strings.HasPrefix(name, "qemu-") {
			return "" // a virtual machine of libvirt
		}
		return name
	}
	if isFargate(segment) {
		return segment
	}
	return ""
}

func cutAround(s, prefix, suffix string) (string, bool) {
	s, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, suffix)
	return s, ok && s != ""
}

// unescapeUnit undoes the escapes of systemd unit names (systemd-escape(1)):
// \x and two hexadecimal digits.
func unescapeUnit(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2:i+4]) {
			b.WriteByte(hexValue(s[i+2])<<4 | hexValue(s[i+3]))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func hexValue(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// isHex tells whether s has only lower-case hexadecimal digits.
func isHex(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isContainerHex knows the identifiers of OCI runtimes: SHA-256 in hexadecimal.
func isContainerHex(s string) bool { return len(s) == 64 && isHex(s) }

// isUUID tells whether s has the form 8-4-4-4-12 or, for Garden, 8-4-4-4-4.
func isUUID(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) != 5 || len(s) != 36 && len(s) != 28 {
		return false
	}
	for i, p := range parts {
		if want := [...]int{8, 4, 4, 4, len(s) - 24}[i]; len(p) != want || !isHex(p) {
			return false
		}
	}
	return true
}

// isFargate knows the identifiers of Amazon ECS on Fargate: 32 hexadecimal
// digits, a hyphen and a decimal number.
func isFargate(s string) bool {
	id, number, ok := strings.Cut(s, "-")
	return ok && len(id) == 32 && isHex(id) && number != "" && strings.Trim(number, "0123456789") == ""
}
