package speedscope_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/speedscope"
)

func read(t testing.TB, text string) *speedscope.Result {
	t.Helper()
	res, err := speedscope.Read([]byte(text))
	require.NoError(t, err)
	return res
}

func text(t testing.TB, g *callgraph.Graph) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, folded.Write(&b, g, folded.Options{}))
	return b.String()
}

// doc makes a file of three frames and the profiles given.
func doc(profiles ...string) string {
	return `{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"a"},{"name":"b"},{"name":"c","file":"/x/c.py","line":7,"col":2}]},"profiles":[` +
		strings.Join(profiles, ",") + `],"exporter":"x@1"}`
}

func TestReadSampled(t *testing.T) {
	res := read(t, doc(`{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":6,"samples":[[0],[0,1],[0,1],[]],"weights":[1,2,3,0]}`))
	require.Len(t, res.Graphs, 1)
	assert.Equal(t, "a 1\na;b 5\n", text(t, res.Graphs[0]))
	assert.Equal(t, "samples/count", res.Graphs[0].SampleType.Type+"/"+res.Graphs[0].SampleType.Unit)
	assert.Equal(t, int64(3), res.Graphs[0].Meta.Records)
}

func TestReadEvented(t *testing.T) {
	const events = `{"type":"evented","name":"p","unit":"microseconds","startValue":10,"endValue":110,"events":[
		{"type":"O","frame":0,"at":10},{"type":"O","frame":1,"at":20},{"type":"C","frame":1,"at":50},
		{"type":"C","frame":0,"at":60},{"type":"O","frame":2,"at":100}]}`
	g := read(t, doc(events)).Graphs[0]
	assert.Equal(t, "a 20\na;b 30\nc 10\n", text(t, g), "what nobody closed lasts until the end")
	assert.Equal(t, "microseconds", g.SampleType.Unit)
	f := g.Frames[len(g.Frames)-1]
	assert.Equal(t, "/x/c.py:7", fmt.Sprintf("%s:%d", f.File, f.StartLine))
}

// Times with decimals become nanoseconds, and no part of the whole gets lost by
// rounding.
func TestReadDecimals(t *testing.T) {
	tests := []struct {
		name, unit, weights string
		want                string
		scale               int64
	}{
		{"milliseconds", "milliseconds", "0.5, 1.25", "a 500000\nb 1250000\n", 1_000_000},
		{"seconds", "seconds", "1e-3, 2", "a 1000000\nb 2000000000\n", 1_000_000_000},
		{"nanoseconds", "nanoseconds", "0.5, 2.4", "a 1\nb 2\n", 1},
		{"counts", "none", "0.25, 2", "a 25\nb 200\n", 100},
		{"whole as float", "none", "1.0, 2e0", "a 1\nb 2\n", 1},
		{"beyond floats", "none", "9007199254740993, 1", "a 9007199254740993\nb 1\n", 1},
		{"tiny exponent", "seconds", "1e-99999999, 1", "b 1000000000\n", 1_000_000_000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := read(t, doc(`{"type":"sampled","name":"p","unit":"`+tt.unit+`","startValue":0,"endValue":6,"samples":[[0],[1]],"weights":[`+tt.weights+`]}`))
			assert.Equal(t, tt.want, text(t, res.Graphs[0]))
			assert.Equal(t, tt.scale, res.Scale[0])
		})
	}
	var events []string
	for i := range 1000 {
		events = append(events, fmt.Sprintf(`{"type":"O","frame":0,"at":%g},{"type":"C","frame":0,"at":%g}`, float64(i)/3, float64(i+1)/3))
	}
	g := read(t, doc(`{"type":"evented","name":"p","unit":"nanoseconds","startValue":0,"endValue":334,"events":[`+strings.Join(events, ",")+`]}`)).Graphs[0]
	assert.Equal(t, int64(333), g.Total(0))
}

func TestThreadsOfOneUnitAreOneGraph(t *testing.T) {
	one := `{"type":"sampled","name":"main","unit":"none","startValue":0,"endValue":1,"samples":[[0]],"weights":[1]}`
	two := `{"type":"sampled","name":"worker","unit":"none","startValue":0,"endValue":2,"samples":[[0]],"weights":[2]}`
	other := `{"type":"sampled","name":"heap","unit":"bytes","startValue":0,"endValue":4,"samples":[[0]],"weights":[4]}`
	res := read(t, doc(one, other, two))
	require.Len(t, res.Graphs, 2)
	assert.Equal(t, "main;a 1\nworker;a 2\n", text(t, res.Graphs[0]))
	assert.Equal(t, "a 4\n", text(t, res.Graphs[1]))
	assert.Equal(t, callgraph.Thread, res.Graphs[0].Frames[res.Graphs[0].Nodes[1].Frame].Kind)
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, text, err string }{
		{"not JSON", "{", "damaged"},
		{"another format", `{"traceEvents":[]}`, "no shared frames"},
		{"deep", strings.Repeat("[", 1000), "nested"},
		{"type", doc(`{"type":"timed"}`), "neither sampled nor evented"},
		{"weights", doc(`{"type":"sampled","name":"p","samples":[[0]],"weights":[]}`), "1 samples have 0 weights"},
		{"frame", doc(`{"type":"sampled","name":"p","samples":[[3]],"weights":[1]}`), "frame 3 of 3"},
		{"negative frame", doc(`{"type":"evented","name":"p","events":[{"type":"O","frame":-1,"at":1}]}`), "frame -1 of 3"},
		{"negative weight", doc(`{"type":"sampled","name":"p","samples":[[0]],"weights":[-1]}`), "negative"},
		{"large weight", doc(`{"type":"sampled","name":"p","samples":[[0]],"weights":[1e30]}`), "beyond 64 bits"},
		{"back in time", doc(`{"type":"evented","name":"p","events":[{"type":"O","frame":0,"at":5},{"type":"C","frame":0,"at":4}]}`), "after a later one"},
		{"not the innermost", doc(`{"type":"evented","name":"p","events":[{"type":"O","frame":0,"at":5},{"type":"C","frame":1,"at":6}]}`), "not the innermost"},
		{"event", doc(`{"type":"evented","name":"p","events":[{"type":"X","frame":0,"at":5}]}`), "neither O nor C"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := speedscope.Read([]byte(tt.text))
			require.ErrorContains(t, err, tt.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

// Our own files give the same graph again: kinds, modules and sources included.
func TestRoundTrip(t *testing.T) {
	other := stackgen.New(300, 3).Graph()
	other.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	graphs := []*callgraph.Graph{sample(), other}
	graphs[0].SampleType = callgraph.ValueType{Type: "wall", Unit: "seconds"}
	var b, again bytes.Buffer
	require.NoError(t, speedscope.Write(&b, graphs, speedscope.Options{Exporter: "flametel"}))
	res := read(t, b.String())
	require.Len(t, res.Graphs, 2)
	for i, g := range res.Graphs {
		assert.Equal(t, graphs[i].SampleType, g.SampleType)
		assert.Equal(t, graphs[i].Total(0), g.Total(0))
		assert.Equal(t, text(t, graphs[i]), text(t, g))
	}
	require.NoError(t, speedscope.Write(&again, res.Graphs, speedscope.Options{Exporter: "flametel"}))
	assert.Equal(t, b.String(), again.String())
}

func TestDeepStack(t *testing.T) {
	m := callgraph.NewMerger(1)
	var stack []int32
	for i := range 10_000 {
		stack = append(stack, m.Frame(callgraph.Frame{Name: fmt.Sprint("f", i%7), Kind: callgraph.User}))
	}
	m.Add(stack, 0, 5)
	var b bytes.Buffer
	require.NoError(t, speedscope.Write(&b, []*callgraph.Graph{m.Graph()}, speedscope.Options{}))
	g := read(t, b.String()).Graphs[0]
	assert.Equal(t, int32(10_000), g.Depths()[len(g.Nodes)-1])
}

func TestTotalsAreCutAtTheLargestNumber(t *testing.T) {
	res := read(t, doc(fmt.Sprintf(`{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":6,"samples":[[0],[1]],"weights":[%d,%d]}`, int64(math.MaxInt64), int64(5))))
	assert.Equal(t, int64(math.MaxInt64), res.Graphs[0].Total(0))
	assert.True(t, res.Graphs[0].Meta.Saturated)
}

func FuzzRead(f *testing.F) {
	f.Add(doc(`{"type":"sampled","name":"p","unit":"seconds","startValue":0,"endValue":6,"samples":[[0],[0,1]],"weights":[1.5,2e-3]}`))
	f.Add(doc(`{"type":"evented","name":"p","unit":"none","startValue":1,"endValue":9,"events":[{"type":"O","frame":0,"at":1},{"type":"C","frame":0,"at":4}]}`))
	f.Fuzz(func(t *testing.T, text string) {
		res, err := speedscope.Read([]byte(text))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, speedscope.Write(&b, res.Graphs, speedscope.Options{Exporter: "flametel"}))
		again, err := speedscope.Read(b.Bytes())
		require.NoError(t, err)
		var want, got int64
		for i := range res.Graphs {
			want += res.Graphs[i].Total(0) / 4
		}
		for i := range again.Graphs {
			got += again.Graphs[i].Total(0) / 4
		}
		if len(res.Graphs) == 1 {
			require.Equal(t, want, got)
		}
	})
}
