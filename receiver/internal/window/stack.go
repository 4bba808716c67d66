package window

import (
	"hash/maphash"
	"slices"
	"unsafe"

	"github.com/flametel/flametel/symbolize"
)

// TruncatedName is the name of the frame at the root of a stack that was cut.
const TruncatedName = "[truncated]"

// Truncated is the frame to append to a stack that was cut at a limit. It is a
// constant: nobody changes what it points to.
var Truncated = &symbolize.Frame{
	Module: &symbolize.Module{},
	Lines:  []symbolize.Line{{Name: TruncatedName}},
}

// truncated tells whether the stack was cut at a limit.
func (s *Stack) truncated() bool {
	return len(s.Frames) > 0 && s.Frames[len(s.Frames)-1] == Truncated
}

// real returns the frames without the mark of truncation.
func (s *Stack) real() []*symbolize.Frame {
	if s.truncated() {
		return s.Frames[:len(s.Frames)-1]
	}
	return s.Frames
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
	for _, f := range s.real() {
		if len(f.Lines) > 0 {
			s.named++
		}
	}
	w.stacks[hash] = s
	w.frames += len(frames)
	return s
}
