package folded

import (
	"bufio"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Options are the settings of Write. The zero value is useful.
type Options struct {
	// NoAnnotations leaves out _[k], _[j] and _[i].
	NoAnnotations bool
	// Modules writes the base name of the module before the name of a function:
	// libc.so.6`read.
	Modules bool
	// Weight is which of the graph's weights to write.
	Weight int
}

// Write writes a graph, sorted by stack. Stacks that are equal as text are one
// line. The counts add up to the graph's total.
func Write(w io.Writer, g *callgraph.Graph, opts Options) error {
	g = textGraph(g, opts)
	out := bufio.NewWriterSize(w, 1<<16)
	self := g.Self[opts.Weight]
	eachStack(g, func(i int, stack []byte) {
		if self[i] > 0 {
			writeLine(out, stack, self[i])
		}
	})
	return out.Flush()
}

// textGraph merges frames that are equal as text.
func textGraph(g *callgraph.Graph, opts Options) *callgraph.Graph {
	return g.Regroup(func(f *callgraph.Frame) (callgraph.Frame, bool) {
		text := Text(f, !opts.NoAnnotations)
		if opts.Modules {
			text = module(f) + text
		}
		return callgraph.Frame{Name: text}, true
	})
}

// eachStack gives each node of a graph of text and its stack, which is valid
// until the next.
func eachStack(g *callgraph.Graph, give func(i int, stack []byte)) {
	depths := g.Depths()
	var line []byte
	ends := []int{0} // ends[d] is the length of the first d frames in line
	for i, node := range g.Nodes {
		if i > 0 {
			d := depths[i]
			line = line[:ends[d-1]]
			if d > 1 {
				line = append(line, ';')
			}
			line = append(line, g.Frames[node.Frame].Name...)
			ends = append(ends[:d], len(line))
		}
		stack := line
		if i == 0 {
			stack = []byte(callgraph.NameUnknown)
		}
		give(i, stack)
	}
}

// writeLine writes one line; errors are kept by the writer until it is flushed.
func writeLine(out *bufio.Writer, stack []byte, count int64) {
	_, _ = out.Write(stack)
	_ = out.WriteByte(' ')
	_, _ = out.Write(strconv.AppendInt(out.AvailableBuffer(), count, 10))
	_ = out.WriteByte('\n')
}

// Text returns a frame as it stands in folded text.
func Text(f *callgraph.Frame, annotate bool) string {
	name := clean(f.Name)
	if !annotate {
		return name
	}
	switch {
	case f.Kind == callgraph.Kernel:
		return name + "_[k]"
	case f.Kind == callgraph.JIT:
		return name + "_[j]"
	case f.Inlined && f.Kind == callgraph.User:
		return name + "_[i]"
	}
	return name
}

// module is what stands before a name: the module's base name and a backtick.
// Nothing stands before a name that has the module in it, nor if a reader could
// not tell the two apart.
func module(f *callgraph.Frame) string {
	base := clean(path.Base(f.Module))
	if f.Module == "" || !f.Kind.IsCode() || callgraph.IsPlaceholder(f.Name) {
		return ""
	}
	if m, _ := splitModule(base + "`x"); m != base {
		return ""
	}
	return base + "`"
}

// clean makes a name safe to stand between semicolons on one line.
func clean(name string) string {
	if name == "" {
		return callgraph.NameUnknown
	}
	if isDelimiter(name) { // an operator
		return "(" + name + ")"
	}
	if isClean(name) {
		return name
	}
	var b strings.Builder
	b.Grow(len(name) + utf8.UTFMax)
	for _, r := range name { // invalid bytes come as utf8.RuneError each
		b.WriteRune(replacement(r))
	}
	return b.String()
}

func isClean(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < ' ' || c >= 0x7f || c == ';' {
			return !strings.ContainsFunc(name, func(r rune) bool { return replacement(r) != r }) &&
				utf8.ValidString(name)
		}
	}
	return true
}

func replacement(r rune) rune {
	switch {
	case r == ';':
		return ':'
	case r == '\n', r == '\t', r == '\r':
		return ' '
	// U+2028 and U+2029 end a line for readers that follow Unicode.
	case unicode.IsControl(r), r == 0x2028, r == 0x2029:
		return utf8.RuneError
	}
	return r
}
