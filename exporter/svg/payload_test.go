package svg_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

// decoded is what a second reader of the format finds in a file.
type decoded struct {
	header map[string]any
	names  []string // of nodes but the root
	kinds  []int
	depths []int
	self   []int64
}

func decode(t testing.TB, file string) decoded {
	t.Helper()
	text := regexp.MustCompile(`<metadata data-ft="graph">([^<]*)</metadata>`).FindStringSubmatch(file)
	require.NotNil(t, text)
	packed, err := base64.StdEncoding.DecodeString(text[1])
	require.NoError(t, err)
	data, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	require.NoError(t, err)
	r := bytes.NewReader(data)
	num := func() uint64 {
		v, err := binary.ReadUvarint(r)
		require.NoError(t, err)
		return v
	}
	block := func() []byte {
		b := make([]byte, num())
		_, err := io.ReadFull(r, b)
		require.NoError(t, err)
		return b
	}
	column := func(n uint64) []uint64 {
		c := make([]uint64, n)
		for i := range c {
			c[i] = num()
		}
		return c
	}
	var d decoded
	require.NoError(t, json.Unmarshal(block(), &d.header))
	texts := strings.Split(string(block()), "\n")
	frames := num()
	names, kinds := column(frames), column(frames)
	for range 4 {
		column(frames)
	}
	nodes, weights := num(), num()
	require.Equal(t, uint64(1), weights)
	ups := column(nodes - 1)
	depth := 0
	for i, f := range column(nodes - 1) {
		depth += 1 - int(ups[i])
		d.depths = append(d.depths, depth)
		d.names = append(d.names, texts[names[f]])
		d.kinds = append(d.kinds, int(kinds[f]))
	}
	for _, v := range column(nodes) {
		d.self = append(d.self, int64(v))
	}
	require.Zero(t, r.Len(), "nothing is left over")
	return d
}

// unpackPayload returns the unpacked graph of a file, nil if it has none.
func unpackPayload(file string) []byte {
	text := regexp.MustCompile(`<metadata data-ft="graph">([^<]*)</metadata>`).FindStringSubmatch(file)
	if text == nil {
		return nil
	}
	packed, err := base64.StdEncoding.DecodeString(text[1])
	if err != nil {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 1<<20))
	return data
}

// damage changes one byte and packs the graph again.
func damage(data []byte, at uint, value byte) string {
	if len(data) == 0 {
		return ""
	}
	data[at%uint(len(data))] = value
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, 1)
	_, _ = w.Write(data)
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

func TestPayloadHoldsTheWholeGraph(t *testing.T) {
	g := stackgen.New(3000, 4).Graph()
	d := decode(t, render(t, g, svg.Options{}))
	require.Len(t, d.names, len(g.Nodes)-1)
	assert.Equal(t, g.Self[0], d.self)
	depths := g.Depths()
	for i := 1; i < len(g.Nodes); i++ {
		f := g.Frames[g.Nodes[i].Frame]
		require.Equal(t, f.Name, d.names[i-1])
		require.Equal(t, int(f.Kind), d.kinds[i-1]&7)
		require.Equal(t, f.Inlined, d.kinds[i-1] > 7)
		require.Equal(t, int(depths[i]), d.depths[i-1])
	}
}

func TestPayloadKeeps64Bits(t *testing.T) {
	d := decode(t, render(t, parse(t, "a;b 9007199254740993\na;c 9214364837600034814\n"), svg.Options{}))
	assert.Equal(t, []int64{0, 0, 9007199254740993, math.MaxInt64 - 9007199254740993}, d.self)
}

func TestPayloadHeader(t *testing.T) {
	h := decode(t, render(t, sample(), svg.Options{})).header
	assert.Equal(t, true, h["flame"])
	assert.InDelta(t, 0.0101, h["seconds"], 0.0001)
	kinds := h["kinds"].([]any)
	for kind, color := range map[callgraph.Kind]string{
		callgraph.Kernel: "#F5A142", callgraph.User: "#8BBDEE", callgraph.JIT: "#B65EE8", callgraph.Unknown: "#C9C9C9",
	} {
		assert.Equal(t, color, kinds[kind].(map[string]any)["shades"].([]any)[0])
	}
}
