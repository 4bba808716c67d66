package bpf

import (
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// AllocationOptions set up KernelAllocations.
type AllocationOptions struct {
	// MinBytes leaves allocations out of which less was asked.
	MinBytes uint64
	// LookInterval is about how often each CPU takes the stack of an allocation,
	// when there are many; 0 means each time.
	LookInterval time.Duration
	// Inner are the kernel's allocators that ask each other for memory, see
	// InnerAllocators. Without them such memory is counted twice.
	Inner []Range
}

// InnerAllocators are the functions to give to KernelAllocations, by the names
// that they have in one kernel or another.
var InnerAllocators = []string{
	"allocate_slab", "new_slab", "alloc_slab_page", "___slab_alloc",
	"___kmalloc_large_node", "__kmalloc_large_node", "kmalloc_large_node", "kmalloc_order",
	"__kmalloc_large_node_noprof", "__kmalloc_large_noprof", "__do_kmalloc_node",
	"__kmalloc_noprof", "__kmalloc_node_noprof", "__kmalloc_node_track_caller_noprof",
	"__kmalloc", "__kmalloc_node", "__kmalloc_node_track_caller",
}

// Bits of Sample.Detail of allocations (kernel_allocations.bpf.c). The lower
// half is the logarithm of the size to base 2, rounded down.
const (
	AllocationKmalloc = 1 << 32
	AllocationSlab    = 2 << 32
	AllocationPages   = 3 << 32
	AllocationMask    = 3 << 32
)

// maxInnerRanges is FT_MAX_INNER_RANGES of kernel_allocations.bpf.c.
const maxInnerRanges = 16

// KernelAllocations sees the kernel allocate memory: by kmalloc, from slabs and
// in pages. Sample.Sums are the bytes that were given and those asked for, see
// Syscalls for the sorts of samples.
func KernelAllocations(o AllocationOptions) *Probe {
	var inner [maxInnerRanges]kernelAllocationsFtRange
	n := 0
	for ; n < min(len(o.Inner), len(inner)); n++ {
		inner[n].Start, inner[n].End = o.Inner[n].Start, o.Inner[n].End
	}
	return &Probe{
		object: &object{name: "kernel_allocations", spec: loadKernelAllocations, variables: map[string]any{
			kernelAllocationsVarMinBytes:        o.MinBytes,
			kernelAllocationsVarLookNs:          uint64(o.LookInterval),
			kernelAllocationsVarPageBytes:       uint64(os.Getpagesize()),
			kernelAllocationsVarInnerRanges:     inner,
			kernelAllocationsVarInnerRangeCount: uint32(n),
		}},
		hooks: []hook{
			{program: kernelAllocationsProgAllocKmalloc, event: "kmalloc", since: "5.5"},
			{program: kernelAllocationsProgAllocSlab, event: "kmem_cache_alloc", since: "6.1", optional: true},
			{program: kernelAllocationsProgAllocPages, event: "mm_page_alloc", since: "5.5"},
		},
		events: 8192,
		adapt: func(spec *ebpf.CollectionSpec, kernel *btf.Spec) error {
			// Before 6.1 the tracepoint has sizes where it has the cache now.
			proto := tracepointType(kernel, "kmem_cache_alloc")
			if proto == nil || len(proto.Params) < 4 {
				return nil
			}
			if _, ok := btf.UnderlyingType(proto.Params[3].Type).(*btf.Pointer); !ok {
				delete(spec.Programs, kernelAllocationsProgAllocSlab)
			}
			return nil
		},
	}
}
