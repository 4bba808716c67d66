package svg_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/svg"
)

func render(t testing.TB, g *callgraph.Graph, opts svg.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, svg.Write(&b, g, opts))
	return b.String()
}

func parse(t testing.TB, text string) *callgraph.Graph {
	t.Helper()
	res, err := folded.Read(strings.NewReader(text))
	require.NoError(t, err)
	require.Zero(t, res.BadLines)
	return res.Graph
}

// graphOf merges stacks, the first with one sample, the second with two ...
func graphOf(stacks ...[]callgraph.Frame) *callgraph.Graph {
	m := callgraph.NewMerger(1)
	for i, stack := range stacks {
		var ids []int32
		for _, f := range stack {
			ids = append(ids, m.Frame(f))
		}
		m.Add(ids, 0, int64(i+1))
	}
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	return g
}

func commas(v int64) string {
	s := strconv.FormatInt(v, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
