package receiver

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/unwindtable"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

// resolver turns raw samples into frames. It keeps its buffers from sample to
// sample.
type resolver struct {
	registry   *process.Registry
	symbolizer *symbolize.Symbolizer
	tables     *unwindtable.Manager // nil if stacks are walked without tables

	pcs  []addr.Virtual
	list []*symbolize.Frame
}

func (r *resolver) find(s *bpf.Sample) process.Snapshot {
	return r.registry.Find(s.PID, s.StartNanos, s.LastNanos, s.ThreadName())
}

// frames returns the frames of a sample, leaf first: those that say what it is,
// those of the kernel, then those of the program, and why the latter end where
// they do. A stack that does not reach the start of the thread ends in
// window.Truncated. The slice is overwritten by the next call.
func (r *resolver) frames(s *bpf.Sample, p process.Snapshot, leaf []*symbolize.Frame, traced bool) ([]*symbolize.Frame, bpf.StackEnd) {
	r.list = append(r.list[:0], leaf...)
	if len(s.Kernel) > 0 {
		r.list = r.symbolizer.Kernel(r.addresses(s.Kernel), r.list)
		if traced {
			r.list = withoutTracing(r.list, len(leaf))
		}
		if s.Flags&bpf.KernelTruncated != 0 {
			r.list = append(r.list, window.Truncated)
		}
	}
	if len(s.User) == 0 {
		if s.End == bpf.EndNotLooked {
			r.list = append(r.list, window.Truncated)
		}
		return r.list, s.End
	}
	end := r.user(s, p)
	if !end.Complete() {
		r.list = append(r.list, window.Truncated)
	}
	return r.list, end
}

// user appends the frames of the program.
func (r *resolver) user(s *bpf.Sample, p process.Snapshot) bpf.StackEnd {
	pcs := r.addresses(s.User)
	if p.Gone {
		for i, pc := range pcs {
			if i > 0 {
				pc-- // a return address: the call is before it
			}
			r.list = append(r.list, goneFrame(pc))
		}
		return s.End
	}
	end := s.End
	if r.tables != nil {
		r.tables.Seen(p.Image, pcs, end == bpf.EndNoTable)
		if n, all := r.tables.Sound(s.PID, s.StartNanos, s.LastNanos, p.Image, pcs); !all {
			pcs, end = pcs[:n], bpf.EndNoTable
		}
	}
	first := len(r.list)
	r.list = r.symbolizer.User(p.Image, pcs, r.list)
	// Code that keeps no frame pointers uses the register for data, and what
	// was read there as a return address may be any number. A caller that lies
	// in no executable memory is none, nor is what seems to have called it.
	for i := first + 1; i < len(r.list); i++ {
		if r.list[i].Reason != symbolize.ReasonNoMapping {
			continue
		}
		r.list = r.list[:i]
		if end != bpf.EndNoTable {
			end = bpf.EndAddress
		}
		return r.reason(end, s, p, pcs[:i-first])
	}
	if s.End == bpf.EndNoTable && end == s.End && startsGo(r.list[first:]) {
		return bpf.EndOutmost
	}
	return r.reason(end, s, p, pcs)
}

// reason returns why a stack ends. Code that was mapped a moment ago is no code
// to the kernel until it is told, and looks as if it were generated.
func (r *resolver) reason(end bpf.StackEnd, s *bpf.Sample, p process.Snapshot, pcs []addr.Virtual) bpf.StackEnd {
	switch end {
	case bpf.EndFrame, bpf.EndAddress, bpf.EndFault, bpf.EndStop, bpf.EndRow:
		if r.tables != nil && r.tables.Lacked(s.PID, s.StartNanos, s.LastNanos, p.Image, pcs) {
			return bpf.EndNoTable
		}
	}
	return end
}

// startsGo tells whether a stack begins where goroutines and threads of Go do.
// Go keeps frame pointers, so its stacks are whole before a table is loaded, but
// the kernel cannot tell.
func startsGo(frames []*symbolize.Frame) bool {
	if len(frames) == 0 {
		return false
	}
	root := frames[len(frames)-1]
	if root.Kind != symbolize.KindGo || len(root.Lines) == 0 {
		return false
	}
	switch root.Lines[len(root.Lines)-1].Name {
	case "runtime.goexit", "runtime.mstart", "runtime.rt0_go":
		return true
	}
	return false
}

// noModule is the module of addresses of which nothing is known.
var noModule = &symbolize.Module{}

func goneFrame(pc addr.Virtual) *symbolize.Frame {
	return &symbolize.Frame{Module: noModule, Address: addr.File(pc), Reason: symbolize.ReasonProcessGone}
}

func (r *resolver) addresses(words []uint64) []addr.Virtual {
	r.pcs = r.pcs[:0]
	for _, w := range words {
		r.pcs = append(r.pcs, addr.Virtual(w))
	}
	return r.pcs
}
