package kernel

import (
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
)

// maxLive bounds the symbols of a Live, far above what hosts with thousands of
// BPF programs have.
const maxLive = 1 << 16

// Live are symbols that came after a Table was read, or that have gone since:
// BPF programs and trampolines. A symbol that has gone keeps its name until
// other code takes its place, because samples are named a little after they
// were taken. The zero value is empty; not safe for concurrent use.
type Live struct {
	symbols []liveSymbol // sorted by start, not overlapping
}

type liveSymbol struct {
	start, limit addr.Virtual
	name         string
	gone         bool
}

// Add notes code of length bytes at start. What was known of that place is
// forgotten.
func (l *Live) Add(start addr.Virtual, length uint64, name string) {
	limit := start + addr.Virtual(length)
	if limit <= start {
		return
	}
	from, to := l.overlap(start, limit)
	l.symbols = slices.Replace(l.symbols, from, to, liveSymbol{start: start, limit: limit, name: name})
	if len(l.symbols) > maxLive {
		l.forgetGone()
	}
}

// Remove notes that code is gone. What was never added is added as gone, so
// that its place is known not to be what an older Table says.
func (l *Live) Remove(start addr.Virtual, length uint64, name string) {
	from, to := l.overlap(start, start+1)
	if from == to {
		l.Add(start, length, name)
		from, to = l.overlap(start, start+1)
	}
	if from < to {
		l.symbols[from].gone = true
	}
}

// overlap is the range of symbols that overlap [start, limit).
func (l *Live) overlap(start, limit addr.Virtual) (from, to int) {
	from, _ = slices.BinarySearchFunc(l.symbols, start, func(s liveSymbol, at addr.Virtual) int {
		if s.limit <= at {
			return -1
		}
		return 1
	})
	to = from
	for to < len(l.symbols) && l.symbols[to].start < limit {
		to++
	}
	return from, to
}

// forgetGone makes room: first by the symbols that are gone, and if that is not
// enough, by a quarter of the others, which a new Table will bring back.
func (l *Live) forgetGone() {
	l.symbols = slices.DeleteFunc(l.symbols, func(s liveSymbol) bool { return s.gone })
	if len(l.symbols) > maxLive*3/4 {
		l.symbols = slices.Delete(l.symbols, maxLive*3/4, len(l.symbols))
	}
}

// Lookup returns the name of the symbol that covers an address.
func (l *Live) Lookup(a addr.Virtual) (name string, ok bool) {
	from, to := l.overlap(a, a+1)
	if from == to {
		return "", false
	}
	return l.symbols[from].name, true
}

// Len is the number of symbols held.
func (l *Live) Len() int { return len(l.symbols) }
