package pdatabuild

import (
	"encoding/binary"

	"github.com/flametel/flametel/receiver/internal/source"
)

// labels interns further attributes of a sample and returns their indices, four
// bytes each, so that they can be compared.
func (d *dictionary) labels(list *source.Labels) string {
	if list == nil {
		return ""
	}
	indices := make([]byte, 0, 4*len(*list))
	for _, l := range *list {
		a := strAttribute(l.Key, l.Text)
		if l.IsNumber {
			a = intAttribute(l.Key, l.Number)
		}
		indices = binary.NativeEndian.AppendUint32(indices, uint32(d.attribute(a)))
	}
	return string(indices)
}

// appendLabels appends the indices that labels returned.
func appendLabels(dst []int32, labels string) []int32 {
	for ; len(labels) >= 4; labels = labels[4:] {
		dst = append(dst, int32(binary.NativeEndian.Uint32([]byte(labels[:4]))))
	}
	return dst
}

// labelBytes covers an attribute besides its key and its text.
const labelBytes = 32

// labelsBound is an upper bound of what interning labels adds.
func labelsBound(list *source.Labels) int {
	n := 0
	if list != nil {
		for _, l := range *list {
			n += labelBytes + stringBound(l.Key) + stringBound(l.Text)
		}
	}
	return n
}

// labelIndexBytes is an upper bound of what labels add to a sample.
func labelIndexBytes(list *source.Labels) int {
	if list == nil {
		return 0
	}
	return 5 * len(*list)
}
