package live

import "os"

// allocations leaves out what the kernel tells more than once of a large kmalloc: the
// pages that it is made of, and on some kernels (seen on 6.18) the kmalloc itself. One
// that is larger than any cache takes its pages just before, so another without pages
// is the same again.
type allocations struct {
	last map[int]allocation // of each thread, in the events of the last look
}

// allocation is the last one of a thread, at an index of the events; -1 if they
// were told already.
type allocation struct {
	what  string
	bytes int64
	at    int
}

// What an allocation is called.
const (
	kmalloc = "kmalloc"
	slab    = "slab"
	pages   = "pages"
)

// once removes from events what is told more than once.
func (a *allocations) once(events []Event) []Event {
	largestCache := int64(2 * os.Getpagesize()) // KMALLOC_MAX_CACHE_SIZE, include/linux/slab.h
	last := make(map[int]allocation)
	again := make([]bool, len(events))
	for i := range events {
		e := &events[i]
		before, known := last[e.TID]
		if !known {
			if before, known = a.last[e.TID]; known {
				before.at = -1
			}
		}
		if known && e.What == kmalloc && e.Bytes > largestCache && e.Bytes == before.bytes {
			again[i] = before.what == kmalloc
			if before.what == pages && before.at >= 0 {
				again[before.at] = true
			}
		}
		last[e.TID] = allocation{e.What, e.Bytes, i}
	}
	a.last = last
	kept := events[:0]
	for i := range events {
		if !again[i] {
			kept = append(kept, events[i])
		}
	}
	return kept
}
