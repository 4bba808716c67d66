package receiver

import (
	"slices"
	"strings"

	"github.com/flametel/flametel/symbolize"
)

// tracingPrefixes are how the functions are called that the kernel runs from a
// tracepoint down to a program.
var tracingPrefixes = []string{
	"bpf_prog_", "bpf_trace_run", "bpf_trampoline_", "__bpf_trace_", "__traceiter_", "__bpf_prog_",
	"trace_call_bpf", "perf_trace_", "bpf_get_stack", "__bpf_get_stack", "bpf_iter_run_prog",
	"perf_syscall_enter", "perf_syscall_exit", "__do_trace_",
}

// maxTracing is how many frames of tracing a stack begins with at most.
const maxTracing = 8

// withoutTracing removes the frames of the kernel's tracing from those that
// begin at from, leaf first: what was traced is what called them.
func withoutTracing(frames []*symbolize.Frame, from int) []*symbolize.Frame {
	end := from
	for i := from; i < min(len(frames), from+maxTracing); i++ {
		if isTracing(frames[i]) {
			end = i + 1
		}
	}
	return slices.Delete(frames, from, end)
}

func isTracing(f *symbolize.Frame) bool {
	if len(f.Lines) == 0 {
		return false
	}
	name := f.Lines[len(f.Lines)-1].Name
	return slices.ContainsFunc(tracingPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
