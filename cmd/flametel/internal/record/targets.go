package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/target"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// checkProcesses returns the name of the first process, and an error if one of
// them does not exist.
func checkProcesses(pids []int) (name string, err error) {
	for i, pid := range pids {
		if err := target.Check(pid); err != nil {
			return "", err
		}
		if i == 0 {
			name = processName(pid)
		}
	}
	return name, nil
}

// checkCgroups returns an error if one of the cgroups does not exist below any of
// the roots. Without a root we cannot tell.
func checkCgroups(list, roots []string) error {
	for _, c := range list {
		path := cgroupPath(c)
		there := func(root string) bool {
			_, err := os.Stat(filepath.Join(root, path))
			return !errors.Is(err, fs.ErrNotExist)
		}
		if len(roots) == 0 || slices.ContainsFunc(roots, there) {
			continue
		}
		text := fmt.Sprintf("cgroup %s does not exist; systemd-cgls and %s show those that do", path, cgroupRoot)
		if id := filepath.Base(path); isContainerID(id) {
			text += "; for a container use --container " + id
		}
		return errors.New(text)
	}
	return nil
}

// CgroupRoots are where trees of cgroups are mounted on this host.
func CgroupRoots() []string { return cgroupRoots(cgroupRoot) }

// cgroupRoots are where trees of cgroups are mounted below a folder: the folder
// itself if there is one tree, else one for each kind of resource.
func cgroupRoots(folder string) (roots []string) {
	if _, err := os.Stat(filepath.Join(folder, "cgroup.controllers")); err == nil {
		return []string{folder}
	}
	// Every cgroup has a list of its processes, a folder without one is none.
	lists, err := filepath.Glob(filepath.Join(folder, "*", "cgroup.procs"))
	if err != nil {
		return nil
	}
	for _, list := range lists {
		roots = append(roots, filepath.Dir(list))
	}
	return roots
}

// absent returns the containers that no running process belongs to, as far as
// procfs below a root says. They may still come to life.
func absent(containers []string, root string) []string {
	if len(containers) == 0 {
		return nil
	}
	missing := slices.Clone(containers)
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		groups, err := os.ReadFile(filepath.Join(root, e.Name(), "cgroup"))
		if err != nil {
			continue // it ended meanwhile
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { return strings.Contains(string(groups), id) })
	}
	return missing
}

// processName is the name of a process, at most 15 bytes of it.
func processName(pid int) string {
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return strconv.Itoa(pid)
	}
	return strings.TrimSuffix(string(comm), "\n")
}

// what is the name of what is recorded, for a default file name.
func (o *Options) what(process string) string {
	switch {
	case len(o.Command) > 0:
		return filepath.Base(o.Command[0])
	case len(o.PIDs) > 0:
		return process
	case len(o.Cgroups) > 0:
		return strings.TrimSuffix(filepath.Base(cgroupPath(o.Cgroups[0])), ".service")
	case len(o.Containers) > 0:
		return o.Containers[0][:minContainerID]
	}
	host, err := os.Hostname()
	if err != nil {
		return "host"
	}
	return host
}

// maxName is the room for a name in a message, in characters.
const maxName = 40

// subject says what is recorded, for people.
func (o *Options) subject(process string) string {
	switch {
	case len(o.Command) > 0:
		return terminal.Clip(shellQuote(o.Command), maxName) + " and its children"
	case len(o.PIDs) == 1 && len(o.Cgroups)+len(o.Containers) == 0:
		return fmt.Sprintf("process %d (%s) and its children", o.PIDs[0], terminal.Clip(process, maxName))
	case len(o.PIDs) > 1 && len(o.Cgroups)+len(o.Containers) == 0:
		return fmt.Sprintf("%d processes and their children", len(o.PIDs))
	}
	var parts []string
	if n := len(o.PIDs); n > 0 {
		parts = append(parts, figures.Counted(int64(n), "process", "processes"))
	}
	if n := len(o.Cgroups); n == 1 {
		parts = append(parts, "cgroup "+terminal.Clip(cgroupPath(o.Cgroups[0]), maxName))
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d cgroups", n))
	}
	if n := len(o.Containers); n == 1 {
		parts = append(parts, "container "+o.Containers[0][:minContainerID])
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("%d containers", n))
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	return "the whole host"
}
