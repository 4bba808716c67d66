package perfmap

import (
	"encoding/binary"
	"hash/maphash"
)

// names holds each distinct name once. Runtimes list the same function again
// whenever they compile or move it, so millions of lines have few names.
type names struct {
	seed  maphash.Seed
	bytes []byte   // length (uvarint) and bytes of each name
	slots []uint32 // open addressing: place in bytes plus one, 0 is free
	count int
}

// intern returns the place of a name.
func (n *names) intern(name []byte) uint32 {
	if n.slots == nil {
		n.seed = maphash.MakeSeed()
		n.slots = make([]uint32, 64)
	}
	if n.count >= len(n.slots)/4*3 {
		n.grow()
	}
	slot := n.find(name)
	if n.slots[slot] == 0 {
		n.slots[slot] = uint32(len(n.bytes)) + 1
		n.count++
		n.bytes = binary.AppendUvarint(n.bytes, uint64(len(name)))
		n.bytes = append(n.bytes, name...)
	}
	return n.slots[slot] - 1
}

// find returns the slot that holds name, or the free one where it belongs.
func (n *names) find(name []byte) uint64 {
	mask := uint64(len(n.slots) - 1)
	for i := maphash.Bytes(n.seed, name) & mask; ; i = (i + 1) & mask {
		if n.slots[i] == 0 || string(n.at(n.slots[i]-1)) == string(name) {
			return i
		}
	}
}

func (n *names) grow() {
	old := n.slots
	n.slots = make([]uint32, 2*len(old))
	for _, s := range old {
		if s != 0 {
			n.slots[n.find(n.at(s-1))] = s
		}
	}
}

func (n *names) at(place uint32) []byte {
	length, k := binary.Uvarint(n.bytes[place:])
	return n.bytes[int(place)+k:][:length]
}

func (n *names) size() int64 { return int64(cap(n.bytes)) + 4*int64(cap(n.slots)) }
