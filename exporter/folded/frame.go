package folded

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

func (p *parser) frame(key frameKey) int32 {
	id, ok := p.frames[key]
	if !ok {
		key.text = strings.Clone(key.text)
		id = p.merger.Frame(p.parseFrame(key))
		p.frames[key] = id
	}
	return id
}

// annotation is what can stand at the end of a name. _[k], _[j] and _[i] are of
// everyone; _[0] and _[1] are async-profiler's for interpreted code and code of
// the JVM's first compiler.
func annotation(text string) (name string, mark byte) {
	const length = len("_[k]")
	if n := len(text) - length; n >= 0 && text[n:n+2] == "_[" && text[n+3] == ']' && strings.IndexByte("kji01", text[n+2]) >= 0 {
		return text[:n], text[n+2]
	}
	return text, 0
}

// parseFrame is the inverse of Text.
func (p *parser) parseFrame(key frameKey) callgraph.Frame {
	f := callgraph.Frame{Kind: callgraph.User}
	name, mark := annotation(key.text)
	f.Module, f.Name = splitModule(name)
	switch {
	case mark == 'k' || key.kernel:
		f.Kind = callgraph.Kernel
	case mark == 'j' || mark == '0' || mark == '1':
		f.Kind = callgraph.JIT
		p.noProcess = p.noProcess || mark != 'j' || key.first
	case mark == 'i':
		f.Inlined = true
	case key.first:
		if t, ok := javaThread(key.text); ok {
			p.noProcess = true
			return t
		}
		if f.Module != "" { // DTrace's stacks begin with code
			f.Kind = callgraph.KindOf("", f.Module)
			break
		}
		return callgraph.Frame{Name: orUnknown(key.text), Kind: callgraph.Process}
	case f.Name == "" || callgraph.IsPlaceholder(f.Name) || isModule(f.Name):
		f.Kind = callgraph.Unknown
	default:
		f.Kind = callgraph.KindOf("", f.Module)
	}
	f.Name = orUnknown(f.Name)
	return f
}

func orUnknown(name string) string {
	if name == "" {
		return callgraph.NameUnknown
	}
	return name
}

// splitModule splits libc.so.6`read, as DTrace and async-profiler write it. A
// backtick in the names of C++ stands at the begin or after a colon:
// `anonymous namespace'::f, A::`vtable'.
func splitModule(text string) (module, name string) {
	i := strings.LastIndexByte(text, '`')
	if i <= 0 || i == len(text)-1 || strings.ContainsAny(text[:i], " :(<,*&'\"") {
		return "", text
	}
	return text[:i], text[i+1:]
}

// isModule reports whether a name is only that of a module, as perf's
// stackcollapse writes it for code without a name: [libc.so.6].
func isModule(name string) bool {
	return strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") && !strings.ContainsAny(name, " ;()")
}

// javaThread recognises async-profiler's frame of a thread: [main tid=4711].
func javaThread(text string) (f callgraph.Frame, ok bool) {
	m := threadFrame.FindStringSubmatch(text)
	if m == nil {
		return callgraph.Frame{}, false
	}
	id, err := strconv.ParseUint(m[2], 10, 32)
	return callgraph.Frame{Name: orUnknown(m[1]), Kind: callgraph.Thread, Address: id}, err == nil
}

var threadFrame = regexp.MustCompile(`^\[(.*?) ?tid=([0-9]+)\]$`)

// withoutProcesses makes the first frames code like the others: the text turned
// out to be of async-profiler.
func withoutProcesses(g *callgraph.Graph) *callgraph.Graph {
	return g.Regroup(func(f *callgraph.Frame) (callgraph.Frame, bool) {
		out := *f
		if f.Kind == callgraph.Process {
			out.Module, out.Name = splitModule(f.Name)
			out.Kind = callgraph.KindOf("", out.Module)
			if callgraph.IsPlaceholder(out.Name) || isModule(out.Name) {
				out.Kind = callgraph.Unknown
			}
		}
		return out, true
	})
}
