package folded_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/stackgen"
)

var update = flag.Bool("update", false, "write the golden files")

func write(t testing.TB, g *callgraph.Graph, opts folded.Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, folded.Write(&b, g, opts))
	return b.String()
}

func read(t testing.TB, text string) *folded.Result {
	t.Helper()
	res, err := folded.Read(strings.NewReader(text))
	require.NoError(t, err)
	return res
}

// graphOf merges stacks of frames of the same kind; the first is a process.
func graphOf(stacks ...[]callgraph.Frame) *callgraph.Graph {
	m := callgraph.NewMerger(1)
	for i, stack := range stacks {
		var ids []int32
		for _, f := range stack {
			ids = append(ids, m.Frame(f))
		}
		m.Add(ids, 0, int64(i+1))
	}
	return m.Graph()
}

func user(name string) callgraph.Frame { return callgraph.Frame{Name: name, Kind: callgraph.User} }

func TestWrite(t *testing.T) {
	app := callgraph.Frame{Name: "nginx", Kind: callgraph.Process}
	g := graphOf(
		[]callgraph.Frame{app, user("main"), {Name: "ksys_read", Kind: callgraph.Kernel, Module: "[kernel]"}},
		[]callgraph.Frame{app, user("main"), {Name: "std::sort", Kind: callgraph.User, Inlined: true}},
		[]callgraph.Frame{app, user("main"), {Name: "LazyCompile:~f", Kind: callgraph.JIT, Inlined: true}},
		[]callgraph.Frame{app, user("main")},
		[]callgraph.Frame{app, {Name: "[libssl.so.3]+0x1f2a0", Module: "/usr/lib/libssl.so.3"}},
		[]callgraph.Frame{app, user("a;b\nc\td\x01\xff\u2028e")},
		[]callgraph.Frame{app, {Name: ""}},
		[]callgraph.Frame{app, user("main 12")},
		[]callgraph.Frame{{Name: "a b", Kind: callgraph.Process}, user(" lead")},
	)
	for name, opts := range map[string]folded.Options{
		"annotated.folded": {}, "plain.folded": {NoAnnotations: true}, "modules.folded": {Modules: true},
	} {
		got := write(t, g, opts)
		path := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
	}
}

func TestWriteMergesStacksThatAreEqualAsText(t *testing.T) {
	g := graphOf(
		[]callgraph.Frame{{Name: "f", Kind: callgraph.User, Module: "/a.so"}, user("x;y")},
		[]callgraph.Frame{{Name: "f", Kind: callgraph.User, Module: "/b.so"}, user("x:y")},
	)
	assert.Equal(t, "f;x:y 3\n", write(t, g, folded.Options{}))
}

func TestWriteStackWithoutFrames(t *testing.T) {
	m := callgraph.NewMerger(1)
	m.Add(nil, 0, 5)
	assert.Equal(t, "[unknown] 5\n", write(t, m.Graph(), folded.Options{}))
}

func TestRead(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // as written again
		bad        []int  // numbers of bad lines
		scale      int64
	}{
		{name: "plain", text: "a;b 1\na;c 2\n", want: "a;b 1\na;c 2\n"},
		{name: "no line end", text: "a;b 1", want: "a;b 1\n"},
		{name: "windows line ends", text: "a;b 1\r\na 2\r\n", want: "a 2\na;b 1\n"},
		{name: "blank lines", text: "\n\n  \na 1\n\n", want: "a 1\n"},
		{name: "last space splits", text: "a b;f 12 3\n", want: "a b;f 12 3\n"},
		{name: "spaces around names stay", text: " a; f  3\n", want: " a; f  3\n"},
		{name: "empty frame", text: "a;;b 1\n", want: "a;[unknown];b 1\n"},
		{name: "zero", text: "a 0\n", want: ""},
		{name: "largest", text: "a 9223372036854775807\n", want: "a 9223372036854775807\n"},
		{name: "too large", text: "a 9223372036854775808\nb 1\n", want: "b 1\n", bad: []int{1}},
		{name: "negative", text: "a -1\nb 1\n", want: "b 1\n", bad: []int{1}},
		{name: "plus sign", text: "a +1\n", bad: []int{1}},
		{name: "not a number", text: "b 1\na x\na 1e5\na 0x10\na ٣\n", want: "b 1\n", bad: []int{2, 3, 4, 5}},
		{name: "no count", text: "abc\n a\n5\nb 1\n", want: "b 1\n", bad: []int{1, 2, 3}},
		{name: "no stack", text: " 5\nb 1\n", want: "b 1\n", bad: []int{1}},
		{name: "decimals", text: "a 1.5\nb 2\nc .25\nd 3.\n", want: "a 150\nb 200\nc 25\nd 300\n", scale: 100},
		{name: "decimals of zero", text: "a 1.000\n", want: "a 1\n"},
		{name: "too many decimals", text: "a 0.12345678987\n", want: "a 123456789\n", scale: 1_000_000_000},
		{name: "two points", text: "a 1.2.3\na .\n", bad: []int{1, 2}},
		{name: "not ASCII", text: "日本;é 2\n", want: "日本;é 2\n"},
		{name: "not UTF-8", text: "a\xff;\xc3( 2\n", want: "a\ufffd;\ufffd( 2\n"},
		{name: "annotations", text: "a;f_[i];k_[k];j_[j] 1\n", want: "a;f_[i];k_[k];j_[j] 1\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := read(t, tt.text)
			assert.Equal(t, tt.want, write(t, res.Graph, folded.Options{}))
			var bad []int
			for _, b := range res.Bad {
				bad = append(bad, b.Number)
				assert.Contains(t, b.Error(), "line ")
			}
			assert.Equal(t, tt.bad, bad)
			assert.Equal(t, len(tt.bad), res.BadLines)
			assert.Equal(t, max(1, tt.scale), res.Scale)
		})
	}
}

func TestReadKinds(t *testing.T) {
	g := read(t, "app;f;g_[i];j_[j];[libc.so.6]+0x10;[unknown];[unknown]_[k];k_[k] 1\n").Graph
	var got []callgraph.Frame
	for _, n := range g.Nodes[1:] {
		got = append(got, g.Frames[n.Frame])
	}
	assert.Equal(t, []callgraph.Frame{
		{Name: "app", Kind: callgraph.Process},
		{Name: "f", Kind: callgraph.User},
		{Name: "g", Kind: callgraph.User, Inlined: true},
		{Name: "j", Kind: callgraph.JIT},
		{Name: "[libc.so.6]+0x10"},
		{Name: "[unknown]"},
		{Name: "[unknown]", Kind: callgraph.Kernel},
		{Name: "k", Kind: callgraph.Kernel},
	}, got)
}

func TestReadReportsTheFirstBadLinesAndCountsAll(t *testing.T) {
	res := read(t, strings.Repeat("bad\n", 500)+"a 1\n")
	assert.Equal(t, 500, res.BadLines)
	assert.Len(t, res.Bad, 100)
	assert.Equal(t, int64(1), res.Graph.Total(0))
}

func TestReadBoundsLinesAndStacks(t *testing.T) {
	res := read(t, strings.Repeat("x", 17<<20)+" 1\n"+strings.Repeat("f;", 70_000)+"f 1\nok 1\n")
	assert.Equal(t, 2, res.BadLines)
	assert.Equal(t, "ok 1\n", write(t, res.Graph, folded.Options{}))
}

func TestReadCutsAtTheLargestNumber(t *testing.T) {
	res := read(t, "a 9223372036854775807\nb 9223372036854775807\n")
	assert.Equal(t, int64(math.MaxInt64), res.Graph.Total(0))
	assert.True(t, res.Graph.Meta.Saturated)
	res = read(t, "a 9223372036854775807\nb 0.5\n")
	assert.Equal(t, int64(math.MaxInt64), res.Graph.Total(0))
	assert.True(t, res.Graph.Meta.Saturated)
}

func TestRoundTrip(t *testing.T) {
	want := write(t, stackgen.New(2000, 1).Graph(), folded.Options{})
	res := read(t, want)
	assert.Zero(t, res.BadLines)
	assert.Equal(t, want, write(t, res.Graph, folded.Options{}))
	assert.Equal(t, stackgen.New(2000, 1).Graph().Total(0), res.Graph.Total(0))
}

func TestRoundTripOfAwkwardNames(t *testing.T) {
	names := []string{"f 12", "a;b", "tab\there", "", " lead", "trail ", "a\rb", "\x00", "é\xc3", "[k]", "1", " ", "-", "--"}
	for _, name := range names {
		g := graphOf([]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, user(name), user("leaf")},
			[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, user("root"), user(name)})
		text := write(t, g, folded.Options{})
		res := read(t, text)
		assert.Zero(t, res.BadLines, "%q", name)
		assert.Equal(t, g.Total(0), res.Graph.Total(0), "%q", name)
		assert.Equal(t, g.Depths(), res.Graph.Depths(), "%q", name)
		assert.Equal(t, text, write(t, res.Graph, folded.Options{}), "%q", name)
	}
}

// FuzzRead reads anything. What was read is written as text that reads as the
// same again.
func FuzzRead(f *testing.F) {
	f.Add("a;b 1\na;c_[k] 2\nbad\nf 12 1.5\n")
	f.Add(" ;; ;_[j] 9223372036854775807\r\n\xff 3")
	f.Add("[main tid=7];a`b_[0];-;c 1\nx`y;--;[z] 2")
	f.Fuzz(func(t *testing.T, text string) {
		res := read(t, text)
		once := write(t, res.Graph, folded.Options{})
		again := read(t, once)
		if again.BadLines != 0 {
			t.Fatalf("own output has bad lines: %v\n%q", again.Bad, once)
		}
		if got, want := again.Graph.Total(0), res.Graph.Total(0); got != want {
			t.Fatalf("total %d, want %d", got, want)
		}
		if twice := write(t, again.Graph, folded.Options{}); twice != once {
			t.Fatalf("not stable:\n%q\n%q", once, twice)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	for name, n := range map[string]int{"1k": 1_000, "10k": 10_000, "100k": 100_000} {
		g := stackgen.New(n, 1).Graph()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var out bytes.Buffer
			for b.Loop() {
				out.Reset()
				require.NoError(b, folded.Write(&out, g, folded.Options{}))
			}
			b.SetBytes(int64(out.Len()))
		})
	}
}

func BenchmarkRead(b *testing.B) {
	text := write(b, stackgen.New(10_000, 1).Graph(), folded.Options{})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, err := folded.Read(strings.NewReader(text))
		require.NoError(b, err)
	}
}
