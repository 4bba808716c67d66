package bpf

import "slices"

// keptChunk is a chunk that outlives the time at which it was taken: a wait that
// began before may end after it.
type keptChunk struct {
	parent uint64
	words  []uint64 // nil until it is taken
	used   uint64   // the time, see drainer.takes, of which it is or when it was last asked for
}

// keepTakes is how many times (see drainer.takes) a chunk outlives in which nobody
// asks for it. A wait that ends after a flip and before the look at waits is counted
// in the time that has just begun: two after it was seen last.
const keepTakes = 2

// use says that samples to come may refer to a stack.
func (d *drainer) use(id uint64) {
	for id != 0 {
		k := d.kept[id]
		if k == nil {
			if d.kept == nil {
				d.kept = make(map[uint64]*keptChunk)
			}
			d.kept[id] = &keptChunk{used: d.takes}
			return // its parents become known when it is taken
		}
		if k.used == d.takes {
			return
		}
		k.used = d.takes
		id = k.parent
	}
}

// keepChunks keeps the chunks of this time for the next one, and longer if
// they are used, and adds the kept ones to those that samples can refer to.
// What was neither taken nor used for longer than keepTakes is forgotten.
func (d *drainer) keepChunks() {
	if d.kept == nil {
		d.kept = make(map[uint64]*keptChunk)
	}
	for id, c := range d.stacks {
		k := d.kept[id]
		if k == nil {
			k = &keptChunk{}
			d.kept[id] = k
		}
		if k.words == nil {
			k.parent, k.words = c.parent, slices.Clone(d.taken.arena[c.from:c.to])
		}
		k.used = d.takes
	}
	for id, k := range d.kept {
		if k.used+keepTakes < d.takes {
			delete(d.kept, id)
			continue
		}
		if _, ok := d.stacks[id]; ok || k.words == nil {
			continue
		}
		from := len(d.taken.arena)
		d.taken.arena = append(d.taken.arena, k.words...)
		d.stacks[id] = chunk{parent: k.parent, from: from, to: len(d.taken.arena)}
	}
}
