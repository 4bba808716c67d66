//go:build linux

package allocations

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
)

func TestDescribe(t *testing.T) {
	for want, detail := range map[string]uint64{
		"kmalloc:8 KiB": bpf.AllocationKmalloc | 13,
		"slab:512 B":    bpf.AllocationSlab | 9,
		"pages:1 MiB":   bpf.AllocationPages | 20,
		"pages:2 GiB":   bpf.AllocationPages | 31,
		"kmalloc:1 B":   bpf.AllocationKmalloc,
		"kmalloc:8 EiB": bpf.AllocationKmalloc | 63,
		"slab:4 KiB":    bpf.AllocationSlab | 12,
	} {
		d := describe(&bpf.Sample{Detail: detail})
		assert.Equal(t, want, d.Leaf[0].Lines[0].Name)
	}
	assert.Equal(t, []int64{1, 16, 10}, values(&bpf.Sample{Count: 1, Sums: [3]uint64{16, 10}}, nil))
}
