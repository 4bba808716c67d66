package svg_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func read(t testing.TB, file string) *svg.File {
	t.Helper()
	f, err := svg.Read(strings.NewReader(file))
	require.NoError(t, err)
	return f
}

func TestReadReturnsWhatWasWritten(t *testing.T) {
	facts := []svg.Fact{{Name: "version", Value: "1.2.3"}, {Name: "command", Value: "record -o <a>&\u202e\x1b"}}
	generated := stackgen.New(3000, 4).Graph()
	for name, g := range map[string]*callgraph.Graph{
		"sample": sample(), "generated": generated, "empty": callgraph.NewMerger(1).Graph(),
		"63 bits": parse(t, "a;b 9007199254740993\na;c 9214364837600034814\n"),
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, render(t, g, svg.Options{Title: "T <&>", Facts: facts, MaxBytes: -1}))
			assert.Equal(t, "T <&>", f.Title)
			assert.Equal(t, facts, f.Facts)
			assert.Nil(t, f.Comparison)
			assert.Equal(t, g.Frames, append(make([]callgraph.Frame, 0, len(g.Frames)), f.Graph.Frames...))
			assert.Equal(t, g.Nodes, f.Graph.Nodes)
			assert.Equal(t, g.Self, f.Graph.Self)
			assert.Equal(t, g.SampleType, f.Graph.SampleType)
			assert.Equal(t, g.PeriodType, f.Graph.PeriodType)
			assert.Equal(t, g.Period, f.Graph.Period)
			assert.Equal(t, g.Meta, f.Graph.Meta)
		})
	}
}

func TestWritingWhatWasReadGivesTheSameBytes(t *testing.T) {
	file := render(t, sample(), svg.Options{Title: "T"})
	assert.Equal(t, file, render(t, read(t, file).Graph, svg.Options{Title: "T"}))
}

func comparison(t testing.TB, before, after string, opts callgraph.CompareOptions) *callgraph.Comparison {
	t.Helper()
	return callgraph.Compare(parse(t, before), parse(t, after), opts)
}

func renderComparison(t testing.TB, c *callgraph.Comparison, opts svg.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, svg.WriteComparison(&b, c, opts))
	return b.String()
}

func TestReadReturnsComparisons(t *testing.T) {
	c := comparison(t, "a;b 100\na;gone 50\n", "a;b 300\na;new 20\n", callgraph.CompareOptions{Labels: [2]string{"old.svg", "new.svg"}})
	f := read(t, renderComparison(t, c, svg.Options{}))
	require.NotNil(t, f.Comparison)
	assert.Equal(t, c.Graph.Self, f.Comparison.Graph.Self)
	assert.Equal(t, c.Graph.Nodes, f.Comparison.Graph.Nodes)
	assert.Equal(t, c.Normalized, f.Comparison.Normalized)
	for i := range c.Sides {
		assert.Equal(t, c.Sides[i].Label, f.Comparison.Sides[i].Label)
		assert.Equal(t, c.Sides[i].Total, f.Comparison.Sides[i].Total)
		assert.Equal(t, c.Sides[i].Samples, f.Comparison.Sides[i].Samples)
	}
}

func TestReadRefusesOtherFiles(t *testing.T) {
	good := render(t, sample(), svg.Options{})
	graph := regexp.MustCompile(`<metadata data-ft="graph">[^<]*`).FindString(good)
	for name, tt := range map[string]struct{ file, want string }{
		"nothing":       {"", "no flame graph of ours"},
		"another svg":   {`<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>`, "no flame graph of ours"},
		"not xml":       {"<svg", "read the flame graph"},
		"cut off":       {good[:len(good)/3], "read the flame graph"},
		"newer":         {strings.Replace(good, `"version":2`, `"version":3`, 1), "has format 3"},
		"not JSON":      {strings.Replace(good, `{"format"`, `{{"format"`, 1), "description"},
		"another total": {strings.Replace(good, `"total":101039`, `"total":101038`, 1), "says a total of 101038"},
		"no base64":     {strings.Replace(good, graph, graph[:len(graph)-9]+"!!", 1), "unpack"},
		"short":         {strings.Replace(good, graph, graph[:len(graph)-40], 1), "unpack"},
		"two sources":   {strings.Replace(good, `"sources":[`, `"sources":[{},`, 1), "describes 2 profiles and holds 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := svg.Read(strings.NewReader(tt.file))
			require.Error(t, err)
			assert.Contains(t, err.Error(), tt.want)
		})
	}
}

// FuzzRead changes bytes of the description and of the unpacked graph.
func FuzzRead(f *testing.F) {
	f.Add([]byte(render(f, sample(), svg.Options{})), uint(3), byte(7))
	f.Add([]byte(renderComparison(f, comparison(f, "a;b 1\n", "a;c 2\n", callgraph.CompareOptions{}), svg.Options{})), uint(90), byte(200))
	f.Fuzz(func(t *testing.T, file []byte, at uint, value byte) {
		if len(file) > 1<<20 {
			return
		}
		if parsed, err := svg.Read(bytes.NewReader(file)); err == nil {
			for w := range parsed.Graph.Self {
				require.GreaterOrEqual(t, parsed.Graph.Total(w), int64(0))
			}
		}
		payload := damage(unpackPayload(string(file)), at, value)
		if payload == "" {
			return
		}
		changed := regexp.MustCompile(`<metadata data-ft="graph">[^<]*`).ReplaceAllLiteralString(string(file), `<metadata data-ft="graph">`+payload)
		if parsed, err := svg.Read(strings.NewReader(changed)); err == nil {
			require.NotEmpty(t, parsed.Graph.Nodes)
		}
	})
}

func TestLimitOfSizeMergesSmallestSubtrees(t *testing.T) {
	g := stackgen.New(20_000, 9).Graph()
	whole := len(render(t, g, svg.Options{MaxBytes: -1}))
	for _, limit := range []int{whole * 3 / 4, whole / 2, 300_000, 1} {
		file := render(t, g, svg.Options{MaxBytes: int64(limit)})
		if limit > 1 {
			assert.LessOrEqual(t, len(file), limit)
			assert.Greater(t, len(file), limit*7/10, "not more is merged than has to be")
		}
		parseXML(t, file)
		said := regexp.MustCompile(`([\d,]+) frames of the smallest subtrees \(([\d.]+)%`).FindStringSubmatch(file)
		require.NotNil(t, said)
		small := read(t, file).Graph
		require.Equal(t, g.Total(0), small.Total(0))
		merged, weight := 0, int64(0)
		for i, total := range small.Totals(0) {
			if i == 0 {
				continue
			}
			name := small.Frames[small.Nodes[i].Frame].Name
			if n, ok := strings.CutSuffix(name, " small frames)"); ok {
				count, err := strconv.Atoi(strings.TrimPrefix(n, "("))
				require.NoError(t, err)
				merged += count
				weight += total
				assert.Greater(t, count, 1)
			}
		}
		assert.Equal(t, said[1], commas(int64(merged)))
		share, err := strconv.ParseFloat(said[2], 64)
		require.NoError(t, err)
		assert.InDelta(t, share, 100*float64(weight)/float64(g.Total(0)), 0.01)
	}
	assert.NotContains(t, render(t, g, svg.Options{}), "small frames)")
}

func TestLimitOfSizeKeepsWhatIsLarge(t *testing.T) {
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		text.WriteString("app;main;f" + strconv.Itoa(r.IntN(1e9)) + ";g 1\n")
	}
	text.WriteString("app;main;large;deeper 70000\n")
	g := parse(t, text.String())
	file := render(t, g, svg.Options{MaxBytes: 400_000})
	assert.LessOrEqual(t, len(file), 400_000)
	small := read(t, file).Graph
	total, self := small.ByFrame(0)
	for i, f := range small.Frames {
		switch f.Name {
		case "deeper":
			assert.Equal(t, int64(70000), self[i])
		case "main":
			assert.Equal(t, int64(170000), total[i])
		}
	}
	assert.Equal(t, file, render(t, g, svg.Options{MaxBytes: 400_000}), "always the same")
}

func TestLimitOfSizeInComparisons(t *testing.T) {
	before, after := stackgen.New(5000, 1).Graph(), stackgen.New(5000, 2).Graph()
	c := callgraph.Compare(before, after, callgraph.CompareOptions{})
	file := renderComparison(t, c, svg.Options{MaxBytes: 250_000})
	assert.LessOrEqual(t, len(file), 250_000)
	small := read(t, file).Comparison
	assert.Equal(t, before.Total(0), small.Graph.Total(callgraph.Before))
	assert.Equal(t, after.Total(0), small.Graph.Total(callgraph.After))
	assert.Equal(t, int64(math.MaxInt64), parse(t, "a 9223372036854775807\nb 5\n").Total(0))
}
