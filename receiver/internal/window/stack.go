package window

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/flametel/flametel/symbolize"
)

// TruncatedName is the name of the frame that stands where a stack was cut.
const TruncatedName = "[truncated]"

// Truncated is the frame to append to a stack that was cut at a limit: after
// the frames of the kernel, of the program, or both. It is a constant: nobody
// changes what it points to. It does not count as a frame.
var Truncated = &symbolize.Frame{
	Module: &symbolize.Module{},
	Lines:  []symbolize.Line{{Name: TruncatedName}},
}

// hashFrames hashes the addresses of the frames, not what they point to. An
// address serves as identity because the garbage collector does not move heap
// objects, and a frame in a window is on the heap.
func hashFrames(seed maphash.Seed, frames []*symbolize.Frame) uint64 {
	if len(frames) == 0 {
		return 0
	}
	size := len(frames) * int(unsafe.Sizeof(frames[0]))
	return maphash.Bytes(seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(frames))), size))
}

func (w *Window) findStack(hash uint64, frames []*symbolize.Frame) *Stack {
	for s := w.stacks[hash]; s != nil; s = s.next {
		if slices.Equal(s.Frames, frames) {
			return s
		}
	}
	return nil
}

func (w *Window) addStack(hash uint64, frames []*symbolize.Frame) *Stack {
	s := &Stack{Frames: slices.Clone(frames), next: w.stacks[hash]}
	for _, f := range frames {
		switch {
		case f == Truncated:
			s.truncated = true
		case len(f.Lines) > 0:
			s.named++
		default:
			s.unknown++
		}
	}
	w.stacks[hash] = s
	w.frames += len(frames)
	return s
}
