//go:build linux

// Package allocations is the profile kind that shows for whom the kernel
// allocates memory of its own.
package allocations

import (
	"fmt"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// keyAllocator says by which of the kernel's allocators.
const keyAllocator = "flametel.allocator"

// New returns a source that has not started.
func New(o bpf.AllocationOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name: "kernel_allocations",
			SampleTypes: []source.ValueType{
				{Type: "allocations", Unit: "count"}, {Type: "allocated", Unit: "bytes"}, {Type: "requested", Unit: "bytes"},
			},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelKernelAllocations, Value: 0},
				{Metric: metadata.FlametelKernelAllocated, Value: 1},
			},
		},
		Probe:    bpf.KernelAllocations(o),
		Values:   values,
		Describe: describe,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(s.Count), int64(s.Sums[0]), int64(s.Sums[1]))
}

var allocators = map[uint64]string{
	bpf.AllocationKmalloc: "kmalloc",
	bpf.AllocationSlab:    "slab",
	bpf.AllocationPages:   "pages",
}

func describe(s *bpf.Sample) event.Description {
	name := allocators[s.Detail&bpf.AllocationMask]
	return event.One(fmt.Sprintf("%s:%s", name, size(uint32(s.Detail))), source.Label{Key: keyAllocator, Text: name})
}

// size says from which power of two on the size is: 8 KiB for 8,192 to 16,383.
func size(log2 uint32) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	unit := min(int(log2/10), len(units)-1)
	return fmt.Sprintf("%d %s", uint64(1)<<(log2-uint32(10*unit)), units[unit])
}
