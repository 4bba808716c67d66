package perfmap

import (
	"cmp"
	"slices"

	"github.com/flametel/flametel/symbolize/addr"
)

// watched is an address whose code had no name when it ran, with what was read
// of it since.
type watched struct {
	at        addr.Virtual
	name      string // the first one, "" if there was none
	contested bool   // another followed
}

// Watch has all names noted that lines give to these addresses from now on:
// those of code that ran before its lines were read. Addresses that are not
// among them are no longer watched; what is known of the others stays.
func (r *Reader) Watch(addresses []addr.Virtual) {
	list := make([]watched, 0, len(addresses))
	for _, at := range addresses {
		w := watched{at: at}
		if i, ok := r.findWatched(at); ok && r.watch[i].at == at {
			w = r.watch[i]
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b watched) int { return cmp.Compare(a.at, b.at) })
	r.watch = list
}

// Contested tells that lines read since gave an address that is watched more
// than one name. Code was replaced there, and nothing tells which of the two
// it was that ran before either line was read.
func (r *Reader) Contested(a addr.Virtual) bool {
	i, ok := r.findWatched(a)
	return ok && r.watch[i].contested
}

// findWatched returns the place of the first watched address from a on.
func (r *Reader) findWatched(a addr.Virtual) (i int, found bool) {
	return slices.BinarySearchFunc(r.watch, a, func(w watched, a addr.Virtual) int { return cmp.Compare(w.at, a) })
}

// note sees to the watched addresses that a line names.
func (r *Reader) note(l *line) {
	if len(r.watch) == 0 {
		return
	}
	i, _ := r.findWatched(addr.Virtual(l.start))
	for ; i < len(r.watch) && uint64(r.watch[i].at)-l.start < uint64(l.size); i++ {
		switch w := &r.watch[i]; {
		case w.name == "":
			w.name = string(l.name)
		case w.name != string(l.name):
			w.contested = true
		}
	}
}
