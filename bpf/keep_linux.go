package bpf

import "slices"

// keptChunk is a chunk that outlives the drain that took it: a wait that began
// before may end after it.
type keptChunk struct {
	parent uint64
	words  []uint64 // nil until it is taken
	used   uint64   // the drain in which it was taken or last asked for
}

// use says that samples to come may refer to a stack.
func (d *drainer) use(id uint64) {
	for id != 0 {
		k := d.kept[id]
		if k == nil {
			if d.kept == nil {
				d.kept = make(map[uint64]*keptChunk)
			}
			d.kept[id] = &keptChunk{used: d.drains}
			return // its parents become known when it is taken
		}
		if k.used == d.drains {
			return
		}
		k.used = d.drains
		id = k.parent
	}
}

// keepChunks keeps the chunks of this drain for the next one, and longer if
// they are used, and adds the kept ones to those that samples can refer to.
// What was neither taken nor used since the last drain is forgotten: a wait may
// have ended between the drain and the look at waits, so one is not enough.
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
			k.parent, k.words = c.parent, slices.Clone(d.arena[c.from:c.to])
		}
		k.used = d.drains
	}
	for id, k := range d.kept {
		if k.used+1 < d.drains {
			delete(d.kept, id)
			continue
		}
		if _, ok := d.stacks[id]; ok || k.words == nil {
			continue
		}
		from := len(d.arena)
		d.arena = append(d.arena, k.words...)
		d.stacks[id] = chunk{parent: k.parent, from: from, to: len(d.arena)}
	}
}
