package symbolize

import (
	"github.com/flametel/flametel/symbolize/addr"
)

// Kind says what sort of code a frame belongs to.
type Kind uint8

// The kinds of frames. Their text is the value of the attribute
// profile.frame.type of the OpenTelemetry semantic conventions; KindJIT is
// code generated at run time by a runtime that we do not know, KindEvent no
// code but what happened (a system call, a file), and KindUnknown has no text.
const (
	KindUnknown Kind = iota
	KindKernel
	KindNative
	KindJIT
	KindGo
	KindRust
	KindV8
	KindJVM
	KindDotnet
	KindCPython
	KindEvent
)

var kindNames = [...]string{
	KindUnknown: "",
	KindKernel:  "kernel",
	KindNative:  "native",
	KindJIT:     "jit",
	KindGo:      "go",
	KindRust:    "rust",
	KindV8:      "v8js",
	KindJVM:     "jvm",
	KindDotnet:  "dotnet",
	KindCPython: "cpython",
	KindEvent:   "event",
}

// String returns the attribute value, "" for KindUnknown.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// Module is a piece of a file (or of the kernel, or of anonymous memory) that
// code was run from. Modules are shared and immutable; two equal pointers mean
// the same module, but one module may have several pointers over time because
// caches are bounded.
type Module struct {
	// Path is the file name as the profiled process saw it, "[kernel]" or the
	// name of a kernel module in brackets, "[vdso]", or "[anon]" for code in
	// anonymous memory. It is not sanitised: any bytes may stand in it.
	Path string
	// GNUBuildID and GoBuildID are the identities noted in the file, the first
	// in lower-case hexadecimal. Either may be empty.
	GNUBuildID string
	GoBuildID  string
	// Start, Limit and Offset describe the executable load segment that holds
	// the frame: file addresses [Start, Limit), found in the file at Offset.
	// For anonymous memory and the kernel they are virtual addresses, Offset 0.
	Start, Limit addr.File
	Offset       addr.Offset
}

// Line is one source-level function at a frame's address.
type Line struct {
	// Name is what people read (demangled); SystemName is the name in the
	// symbol table when it differs, else "". Neither is sanitised.
	Name       string
	SystemName string
	// File is the source file and Line the line in it; "" and 0 if unknown.
	File string
	Line int64
	// StartLine is the line where the function starts, 0 if unknown.
	StartLine int64
}

// Reason says why a frame has no name.
type Reason uint8

// The reasons, each counted by the receiver under its text.
const (
	ReasonNone         Reason = iota // the frame has a name
	ReasonNoMapping                  // the address lies in no known mapping
	ReasonNoSymbol                   // the file is readable, no symbol covers the address
	ReasonUnreadable                 // the file could not be opened, or is not the one that was mapped
	ReasonMalformed                  // the file is not an ELF file that can be trusted
	ReasonNoMap                      // anonymous code without a perf map entry
	ReasonKernelHidden               // kernel addresses are hidden from us
	ReasonProcessGone                // the process ended before its mappings were read
	ReasonTooBig                     // the symbols of the file are more than is read or held
	ReasonMapTooBig                  // anonymous code not among the newest names of a perf map that has more than is held
)

var reasonNames = [...]string{
	ReasonNone:         "none",
	ReasonNoMapping:    "no_mapping",
	ReasonNoSymbol:     "no_symbol",
	ReasonUnreadable:   "file_unreadable",
	ReasonMalformed:    "file_malformed",
	ReasonNoMap:        "no_perf_map_entry",
	ReasonKernelHidden: "kernel_addresses_hidden",
	ReasonProcessGone:  "process_gone",
	ReasonTooBig:       "symbols_too_big",
	ReasonMapTooBig:    "perf_map_too_big",
}

// String returns the reason in lower snake case.
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return "unknown"
}

// Frame is one call level, named as far as that is possible. Frames are
// immutable and shared: the same code gives the same pointer as long as it
// stays cached, so pointers are good map keys within a window, and callers
// never change what they point to.
type Frame struct {
	Kind Kind
	// Reason says why there are no lines.
	Reason Reason
	// interrupted tells that the frame is the code to which signal handlers
	// return: its caller was interrupted and not in a call.
	interrupted bool
	// Module is never nil; an address in no mapping has the module with Path "".
	Module *Module
	// Address is where the name was looked up: the address of the sampled
	// instruction for a leaf, return address minus one for a caller. It is a
	// file address if the module is a file, else a virtual address.
	Address addr.File
	// FunctionStart to FunctionLimit is the function that holds Address if it
	// has no name, by the unwind information of the file; both are 0 if that is
	// not known.
	FunctionStart, FunctionLimit addr.File
	// Tier is how generated code was compiled, in the words of its runtime;
	// "" if it is not generated or not known.
	Tier string
	// Lines has the innermost (inlined) function first, the real one last.
	// Empty when the address has no name.
	Lines []Line
}
