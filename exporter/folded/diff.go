package folded

import (
	"bufio"
	"io"
	"strconv"

	"github.com/flametel/flametel/exporter/callgraph"
)

// WriteComparison writes stacks with two counts, before and after, as the
// difffolded.pl of the FlameGraph tools does. Nothing is scaled.
func WriteComparison(w io.Writer, c *callgraph.Comparison, opts Options) error {
	g := textGraph(c.Graph, opts)
	out := bufio.NewWriterSize(w, 1<<16)
	before, after := g.Self[callgraph.Before], g.Self[callgraph.After]
	eachStack(g, func(i int, stack []byte) {
		if before[i] == 0 && after[i] == 0 {
			return
		}
		_, _ = out.Write(stack)
		_ = out.WriteByte(' ')
		_, _ = out.Write(strconv.AppendInt(out.AvailableBuffer(), before[i], 10))
		_ = out.WriteByte(' ')
		_, _ = out.Write(strconv.AppendInt(out.AvailableBuffer(), after[i], 10))
		_ = out.WriteByte('\n')
	})
	return out.Flush()
}
