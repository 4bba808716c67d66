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

// renameStacks makes stacks with other frames and returns them by those that
// they take the place of, which are no longer found.
func (w *Window) renameStacks(names map[*symbolize.Frame]*symbolize.Frame) map[*Stack]*Stack {
	var old []*Stack
	for hash, first := range w.stacks {
		var stay *Stack
		for s := first; s != nil; {
			next := s.next
			if s.unknown > 0 && slices.ContainsFunc(s.Frames, func(f *symbolize.Frame) bool { return names[f] != nil }) {
				old = append(old, s)
				w.frames -= len(s.Frames)
			} else {
				s.next = stay
				stay = s
			}
			s = next
		}
		if stay == nil {
			delete(w.stacks, hash)
		} else {
			w.stacks[hash] = stay
		}
	}
	moved := make(map[*Stack]*Stack, len(old))
	for _, s := range old {
		frames := slices.Clone(s.Frames)
		for i, f := range frames {
			if named := names[f]; named != nil {
				frames[i] = named
			}
		}
		hash := hashFrames(w.seed, frames)
		to := w.findStack(hash, frames)
		if to == nil {
			to = w.addStack(hash, frames)
		}
		moved[s] = to
	}
	return moved
}
