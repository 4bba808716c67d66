package callgraph

import (
	"regexp"
	"strings"
)

// A rewrite makes equal what differs between two builds or runs of one program.
type rewrite struct {
	hint string // text without which the pattern cannot match; saves time
	from *regexp.Regexp
	to   string
}

// rewrites of the names of functions, in this order.
var rewrites = []rewrite{
	// Compilers' clones: GCC's .constprop.0, .isra.1, .part.2, .cold; LLVM's
	// .llvm.1234 and .__uniq.5678; the linker's .lto_priv.9.
	{".", regexp.MustCompile(`(?:\.(?:constprop|isra|part|cold|llvm|lto_priv|localalias|__uniq|specialized|destroy|resume|cleanup)(?:\.[0-9]+)?)+(?:\.[0-9]+)*$`), ""},
	{"clone", regexp.MustCompile(`(?: ?\[clone \.[A-Za-z0-9_.]+\])+$`), ""},
	{"(.", regexp.MustCompile(`(?: \(\.[A-Za-z0-9_.]+\))+$`), ""},
	// Rust's legacy mangling ends in a hash of the crate: ::h0123456789abcdef.
	{"::h", regexp.MustCompile(`(?:::h[0-9a-f]{16})+$`), ""},
	// V8 marks the tier of code: LazyCompile:~f, JS:*f, Function:^f.
	{":", regexp.MustCompile(`^(LazyCompile|Function|JS|Script|Eval|Callback|RegExp|Builtin|BytecodeHandler):[~^*+]?`), "$1:"},
	// Symbols of Go's generic functions have the types they are for, f[go.shape.int],
	// of which the runtime prints none: f[...] for what is between the first bracket
	// and the last (runtime/traceback.go, funcNamePiecesForPrint).
	{"[go.shape.", regexp.MustCompile(`^([^\[]+)\[.*go\.shape\..*\]`), "$1[...]"},
	// .NET's tiers: f[Tier0], f[OptimizedTier1], f[PreJIT].
	{"[", regexp.MustCompile(`(?:\[(?:Tier0|Tier1|OptimizedTier1|OptimizedTier1OSR|QuickJitted|PreJIT|Instrumented|Optimized|MinOptimized|ReadyToRun|Unknown)\])+$`), ""},
	// The JVM numbers classes that it makes: X$$Lambda$12/0x7f00, $$Lambda.0x7f00,
	// LambdaForm$MH/0x7f00, GeneratedMethodAccessor12, $Proxy7.
	{"Lambda", regexp.MustCompile(`(Lambda(?:Form\$[A-Z]+)?)(?:[$./](?:0x)?[0-9a-fA-F]+)+`), "$1"},
	{"Accessor", regexp.MustCompile(`(Generated(?:Method|Constructor|SerializationConstructor)Accessor)[0-9]+`), "$1"},
	{"$Proxy", regexp.MustCompile(`(\$Proxy)[0-9]+`), "$1"},
	// The kernel's BPF programs: bpf_prog_, a tag of their instructions, a name.
	{"bpf_prog_", regexp.MustCompile(`^bpf_prog_[0-9a-f]{16}`), "bpf_prog"},
	// Where in a function, as perf and bcc may print it: main+0x1f.
	{"+0x", regexp.MustCompile(`(?:\+0x[0-9a-f]+)+$`), ""},
}

// addresses are names that are an address and nothing else.
var addresses = regexp.MustCompile(`^(?:\[unknown\] ?)?(?:\[?0x[0-9a-f]{1,16}\]?|[0-9a-f]{12,16})$`)

// Numbers of threads and processes: worker-12, worker/3, kworker/u8:3-events.
var (
	kworker     = regexp.MustCompile(`^kworker/.*`)
	threadDigit = regexp.MustCompile(`(?:[-/:#_ ][0-9]+)+$`)
)

// NormalName returns the name by which frames of two profiles are compared:
// without addresses, offsets, compilers' suffixes, hashes, marks of a tier and
// numbers of threads, which differ from one build or run to the next.
// [module]+0xoffset becomes [module], and a bare address [unknown]. It is never
// empty, and the normal name of a normal name is itself.
func NormalName(f *Frame) string {
	g := *f
	if len(g.Name) > maxNormalized {
		return g.Name
	}
	for range maxSuffixes {
		name := shorterName(&g)
		// Each step makes the name shorter, or is the last.
		if len(name) >= len(g.Name) {
			return name
		}
		g.Name = name
	}
	return g.Name
}

// Bounds on hostile names: longer ones are compared as they are, and after so many
// kinds of suffixes in turn the rest stays.
const (
	maxNormalized = 16 << 10 // bytes
	maxSuffixes   = 16
)

// shorterName is one step to the normal name.
func shorterName(f *Frame) string {
	name := f.Name
	switch {
	case f.Kind == Process || f.Kind == Thread:
		if kworker.MatchString(name) {
			return "kworker"
		}
		return orWhole(threadDigit.ReplaceAllString(name, ""), name)
	case IsPlaceholder(name):
		if i := strings.LastIndex(name, "+0x"); i > 0 {
			return normalModule(name[:i])
		}
		return name
	case addresses.MatchString(name):
		if f.Module != "" && !isKernelImage(f.Module) {
			return normalModule(bracketed(f.Module))
		}
		return NameUnknown
	case strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]"):
		return normalModule(name)
	}
	for _, r := range rewrites {
		if strings.Contains(name, r.hint) {
			name = orWhole(r.from.ReplaceAllString(name, r.to), name)
		}
	}
	return name
}

// normalModule drops what a replaced file has after its name, and numbers of
// processes in the names of files for JIT: [jitted-123-4.so]. What perf calls
// [perf-123.map] is anonymous memory, whether there is such a file or not.
func normalModule(name string) string {
	name = strings.Replace(name, " (deleted)]", "]", 1)
	return jitFile.ReplaceAllString(perfMap.ReplaceAllString(name, "[anon]"), "$1$2")
}

var (
	perfMap = regexp.MustCompile(`^\[perf(?:-[0-9]+)?\.map\]`)
	jitFile = regexp.MustCompile(`^(\[jitted)-[0-9]+(?:-[0-9]+)?(\.so\])`)
)

func orWhole(shortened, name string) string {
	if shortened == "" {
		return name
	}
	return shortened
}
