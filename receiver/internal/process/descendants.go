//go:build linux

package process

import (
	"os"
	"strconv"
)

// Descendants returns the processes that a process has started and that run
// now, and those that they have started in turn. A process whose parent has
// ended is no longer known to be one. What ends meanwhile is left out.
func Descendants(procRoot string, pid uint32) ([]uint32, error) {
	dir, err := os.Open(procRoot)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	children := make(map[uint32][]uint32)
	for _, name := range names {
		child, err := strconv.ParseUint(name, 10, 32)
		if err != nil {
			continue
		}
		if st, err := readStat(procRoot, uint32(child)); err == nil && uint32(child) != st.parent {
			children[st.parent] = append(children[st.parent], uint32(child))
		}
	}
	return collect(children, pid), nil
}

// collect walks down the tree. Reading procfs takes a while, so PIDs that were
// used again may make a circle of it.
func collect(children map[uint32][]uint32, root uint32) []uint32 {
	var found []uint32
	seen := map[uint32]bool{root: true}
	for todo := children[root]; len(todo) > 0; todo = todo[1:] {
		if seen[todo[0]] {
			continue
		}
		seen[todo[0]] = true
		found = append(found, todo[0])
		todo = append(todo, children[todo[0]]...)
	}
	return found
}
