package bpf

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The sizes and offsets are those that sample.h asserts and documents.
func TestLayoutsMatchTheKernelSide(t *testing.T) {
	require.EqualValues(t, 80, unsafe.Sizeof(profileFtCountKey{}))
	require.EqualValues(t, 48, unsafe.Offsetof(profileFtCountKey{}.Pid))
	require.EqualValues(t, 60, unsafe.Offsetof(profileFtCountKey{}.Flags))
	require.EqualValues(t, 64, unsafe.Offsetof(profileFtCountKey{}.Comm))
	require.EqualValues(t, 40, unsafe.Sizeof(profileFtCount{}))
	require.EqualValues(t, 272, unsafe.Sizeof(profileFtChunk{}))
	require.EqualValues(t, 16, unsafe.Offsetof(profileFtChunk{}.Words))
	require.EqualValues(t, 16, unsafe.Sizeof(profileFtTarget{}))
	require.EqualValues(t, 96, unsafe.Sizeof(profileFtStats{}))
}

func TestLossesAddUp(t *testing.T) {
	s := Stats{LostCountsFull: 1, LostStacksFull: 20, LostScratch: 300, LostState: 4000, LostRecursion: 50000}
	require.EqualValues(t, 54321, s.Lost())
	require.Len(t, s.Losses(), 5)
}

func TestThreadName(t *testing.T) {
	require.Equal(t, "abc", (&Sample{Comm: [16]byte{'a', 'b', 'c', 0, 'x'}}).ThreadName())
	require.Equal(t, "\xff\xfe", (&Sample{Comm: [16]byte{0xff, 0xfe}}).ThreadName())
	require.Equal(t, "", (&Sample{}).ThreadName())
}
