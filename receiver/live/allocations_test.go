package live

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLargeAllocationsAreToldOnce(t *testing.T) {
	t.Parallel()
	const large, small = 1 << 20, 64
	of := func(tid int, what string, bytes int64) Event { return Event{TID: tid, What: what, Bytes: bytes} }
	var a allocations
	assert.Equal(t, []Event{
		of(2, pages, large), of(1, kmalloc, large), of(1, kmalloc, large),
		of(3, kmalloc, small), of(3, kmalloc, small), of(3, pages, large), of(3, kmalloc, 2*large), of(4, kmalloc, large),
	}, a.once([]Event{
		of(1, pages, large), of(2, pages, large), of(1, kmalloc, large), of(1, kmalloc, large), // once, told three times
		of(1, pages, large), of(1, kmalloc, large), // again
		of(3, kmalloc, small), of(3, kmalloc, small), // of a cache: two
		of(3, pages, large), of(3, kmalloc, 2*large), // of other sizes: two
		of(4, pages, large), of(4, kmalloc, large),
	}))
	assert.Equal(t, []Event{of(5, slab, large), of(4, pages, large)},
		a.once([]Event{of(4, kmalloc, large), of(5, slab, large), of(4, pages, large)}), "told a second time in the next look")
	assert.Equal(t, []Event{of(5, kmalloc, large)}, a.once([]Event{of(5, kmalloc, large)}))
}
