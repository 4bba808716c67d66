package sysname

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNames(t *testing.T) {
	for _, tt := range []struct {
		nr   uint32
		is32 bool
		want string
	}{
		{0, false, "read"},
		{262, false, "newfstatat"},
		{257, false, "openat"},
		{437, false, "openat2"},
		{462, false, "mseal"},
		{9999, false, "syscall_9999"},
		{400, false, "syscall_400"},
		{5, true, "open/32"},
		{9999, true, "syscall_9999/32"},
		{1<<30 | 1, false, "write/x32"},
		{1<<30 | 600, false, "syscall_600/x32"},
		{^uint32(0) >> 1, false, "syscall_1073741823/x32"},
	} {
		assert.Equal(t, tt.want, Name(tt.nr, tt.is32))
	}
	nr, ok := Number("newfstatat")
	assert.True(t, ok)
	assert.EqualValues(t, 262, nr)
	_, ok = Number("")
	assert.False(t, ok)
	nr, ok = CompatNumber("open")
	assert.True(t, ok)
	assert.EqualValues(t, 5, nr)
}
