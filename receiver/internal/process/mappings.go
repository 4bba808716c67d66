//go:build linux

package process

import (
	"slices"

	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

// maxMappings bounds the executable mappings kept of one process. Programs
// that really run code from more are not known; the kernel's own limit
// (vm.max_map_count) is 65,530 by default.
const maxMappings = 1 << 16

// insert puts m into a sorted list without overlaps, in place of what lay
// there. It works in place and returns the new list.
func insert(list []symbolize.Mapped, m symbolize.Mapped) []symbolize.Mapped {
	if m.Limit <= m.Start {
		return list
	}
	from := firstAbove(list, m.Start)
	to := from
	var pieces [3]symbolize.Mapped
	n := 0
	if from < len(list) && list[from].Start < m.Start {
		left := list[from]
		left.Limit = m.Start
		pieces[n] = left
		n++
	}
	pieces[n] = m
	n++
	for to < len(list) && list[to].Start < m.Limit {
		if list[to].Limit > m.Limit {
			right := list[to]
			right.Offset += addr.Offset(m.Limit - right.Start)
			right.Start = m.Limit
			pieces[n] = right
			n++
		}
		to++
	}
	if len(list)-(to-from)+n > maxMappings {
		return list
	}
	return slices.Replace(list, from, to, pieces[:n]...)
}

// holds tells whether the list has just this mapping already. Runtimes that
// toggle the protection of their code make the kernel report it again and
// again.
func holds(list []symbolize.Mapped, m *symbolize.Mapped) bool {
	i, found := slices.BinarySearchFunc(list, m.Start, func(e symbolize.Mapped, at addr.Virtual) int {
		switch {
		case e.Start < at:
			return -1
		case e.Start > at:
			return 1
		}
		return 0
	})
	return found && list[i].Limit == m.Limit && list[i].Offset == m.Offset && list[i].Object == m.Object
}

// replaces tells whether m takes the place of other code in the list.
func replaces(list []symbolize.Mapped, m *symbolize.Mapped) bool {
	for i := firstAbove(list, m.Start); i < len(list) && list[i].Start < m.Limit; i++ {
		if list[i].Object != m.Object {
			return true
		}
	}
	return false
}

// firstAbove is the first mapping that ends above an address.
func firstAbove(list []symbolize.Mapped, at addr.Virtual) int {
	i, _ := slices.BinarySearchFunc(list, at, func(e symbolize.Mapped, at addr.Virtual) int {
		if e.Limit <= at {
			return -1
		}
		return 1
	})
	return i
}
