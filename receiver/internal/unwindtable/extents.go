package unwindtable

import "slices"

// extent is a part of a pool, in elements.
type extent struct{ at, count int }

// extents hands out parts of a pool, first fit. The zero value has nothing.
type extents struct {
	free []extent // sorted, neighbours are joined
	used int      // elements handed out
}

func newExtents(size int) extents { return extents{free: []extent{{0, size}}} }

// take returns a free part of count elements.
func (e *extents) take(count int) (extent, bool) {
	for i := range e.free {
		f := &e.free[i]
		if f.count < count {
			continue
		}
		got := extent{f.at, count}
		f.at += count
		f.count -= count
		if f.count == 0 {
			e.free = slices.Delete(e.free, i, i+1)
		}
		e.used += count
		return got, true
	}
	return extent{}, false
}

// give takes a part back.
func (e *extents) give(x extent) {
	if x.count == 0 {
		return
	}
	e.used -= x.count
	i, _ := slices.BinarySearchFunc(e.free, x.at, func(f extent, at int) int { return f.at - at })
	e.free = slices.Insert(e.free, i, x)
	if i+1 < len(e.free) && e.free[i].at+e.free[i].count == e.free[i+1].at {
		e.free[i].count += e.free[i+1].count
		e.free = slices.Delete(e.free, i+1, i+2)
	}
	if i > 0 && e.free[i-1].at+e.free[i-1].count == e.free[i].at {
		e.free[i-1].count += e.free[i].count
		e.free = slices.Delete(e.free, i, i+1)
	}
}
