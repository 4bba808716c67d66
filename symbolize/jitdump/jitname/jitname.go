package jitname

import (
	"path"
	"strings"
)

// Runtime says which runtime generated code. The values are those of the
// attribute profile.frame.type.
type Runtime string

// The runtimes. Other is code of a runtime that is not known.
const (
	Other   Runtime = "jit"
	V8      Runtime = "v8js"
	JVM     Runtime = "jvm"
	Dotnet  Runtime = "dotnet"
	CPython Runtime = "cpython"
)

// Name is a name taken apart.
type Name struct {
	Runtime Runtime
	// Name is what people read, without tier, type, arguments and place.
	Name string
	// System is the name as the runtime wrote it.
	System string
	// Tier is how the code was compiled, in the runtime's own words; "" if it
	// does not tell.
	Tier string
	// File is where the function is defined, StartLine and Column where it
	// begins there; "" and 0 if unknown.
	File              string
	StartLine, Column int64
}

// Parse takes a name apart. process is the runtime of the process, if Of knows
// it, or Other: it decides where names of several runtimes look alike.
func Parse(raw string, process Runtime) Name {
	for _, parse := range []func(string, Runtime) (Name, bool){v8, cpython, dotnet, jvm} {
		if n, ok := parse(raw, process); ok {
			n.System = raw
			if n.Name == "" {
				n.Name = raw
			}
			return n
		}
	}
	if process == "" || process == CPython {
		process = Other // CPython marks all its names
	}
	return Name{Runtime: process, Name: raw, System: raw}
}

// Of returns the runtime that a mapped file belongs to, Other if it is none of
// those that generate code. Only the last part of the name is looked at.
func Of(file string) Runtime {
	base := path.Base(file)
	switch {
	case base == "libjvm.so":
		return JVM
	case base == "libcoreclr.so", base == "libclrjit.so":
		return Dotnet
	case base == "node", base == "nodejs", base == "deno", base == "chrome", base == "chromium", base == "electron",
		base == "d8", strings.HasPrefix(base, "libnode.so"), strings.HasPrefix(base, "libv8.so"):
		return V8
	case strings.HasPrefix(base, "libpython3"), isPython(base):
		return CPython
	}
	return Other
}

// isPython tells names such as python3 and python3.12 from those of tools.
func isPython(base string) bool {
	version, ok := strings.CutPrefix(base, "python3")
	return ok && strings.Trim(version, ".0123456789") == ""
}

// cpython takes names of perf trampolines apart: py::qualified.name:file
// (Python/perf_trampoline.c).
func cpython(raw string, _ Runtime) (n Name, ok bool) {
	rest, ok := strings.CutPrefix(raw, "py::")
	if !ok {
		return n, false
	}
	n.Runtime = CPython
	n.Name, n.File, _ = strings.Cut(rest, ":")
	return n, true
}
