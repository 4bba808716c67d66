package callgraph

// Kind says what a frame stands for. It decides the colour of a frame and its
// annotation in folded text.
type Kind uint8

// The kinds of frames. Process and Thread are not code: they group the stacks
// of one process name or thread name and stand at the root of a stack.
const (
	Unknown Kind = iota // code without a name
	Kernel
	User
	JIT // code made or interpreted by a runtime
	Process
	Thread
	kindCount
)

var kindWords = [kindCount]string{"unknown", "kernel", "user", "JIT", "process", "thread"}

// String returns the kind in words, as tooltips and legends show it.
func (k Kind) String() string {
	if k < kindCount {
		return kindWords[k]
	}
	return kindWords[Unknown]
}

// IsCode reports whether frames of this kind are code, rather than a grouping.
func (k Kind) IsCode() bool { return k < Process }

// Values of the attribute profile.frame.type (OpenTelemetry semantic
// conventions) that stand for machine code compiled ahead of time. The kernel
// has a kind of its own, and every other value is a runtime's.
var aheadOfTime = map[string]bool{"native": true, "go": true, "rust": true}

// KindOf derives the kind of a named frame from its frame type and, when a
// source gives none, from the file name of its mapping.
func KindOf(frameType, module string) Kind {
	switch {
	case frameType == "kernel":
		return Kernel
	case aheadOfTime[frameType]:
		return User
	case frameType != "":
		return JIT
	case isKernelImage(module):
		return Kernel
	}
	return User
}

// isKernelImage reports whether a mapping is the kernel itself under one of the
// names that profilers give it: ours and the upstream eBPF profiler's, and the
// one of perf and its descendants.
func isKernelImage(module string) bool {
	switch module {
	case "[kernel]", "[kernel.kallsyms]", "[guest.kernel.kallsyms]", "vmlinux":
		return true
	}
	return false
}
