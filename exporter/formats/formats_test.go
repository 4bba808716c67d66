package formats_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func written(t testing.TB, name string, graphs ...*callgraph.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, formats.ByName(name).Write(&b, graphs, &formats.WriteOptions{Layout: svg.Icicle, MaxBytes: -1}))
	return b.Bytes()
}

func read(t testing.TB, data []byte, opts formats.ReadOptions) *formats.Profile {
	t.Helper()
	p, err := formats.Read(bytes.NewReader(data), opts)
	require.NoError(t, err)
	return p
}

func foldedText(t testing.TB, g *callgraph.Graph) string {
	t.Helper()
	return string(written(t, "folded", g))
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func messages(t testing.TB, n int) (protobuf, json []byte) {
	t.Helper()
	protobuf, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(stackgen.New(n, 1).Profiles())
	require.NoError(t, err)
	json, err = (&pprofile.JSONMarshaler{}).MarshalProfiles(stackgen.New(n, 1).Profiles())
	require.NoError(t, err)
	return protobuf, json
}

const perfText = "nginx 7 [000] 1.5: 1 cycles:\n\t1234 f (/bin/f)\n\n"

// Every format is known by its content, compressed or not, and has the same total.
func TestDetect(t *testing.T) {
	g := stackgen.New(300, 1).Graph()
	protobuf, json := messages(t, 300)
	tests := []struct {
		name, format string
		data         []byte
		total        int64
	}{
		{"svg", "svg", written(t, "svg", g), g.Total(0)},
		{"folded", "folded", written(t, "folded", g), g.Total(0)},
		{"pprof", "pprof", written(t, "pprof", g), g.Total(0)},
		{"speedscope", "speedscope", written(t, "speedscope", g), g.Total(0)},
		{"OTLP", "otlp", protobuf, g.Total(0)},
		{"OTLP as JSON", "otlp-json", json, g.Total(0)},
		{"OTLP as indented JSON", "otlp-json", []byte("\ufeff{\n  \"x\": 5,\n \"y\": [1, {\"shared\": 2}],\n" + string(json[1:])), g.Total(0)},
		{"perf script", "perf-script", []byte(perfText), 1},
		{"empty", "folded", nil, 0},
		{"white space", "folded", []byte("\n \n"), 0},
		{"folded without samples", "folded", []byte("a;b 0\n"), 0},
		{"folded of names like markup", "folded", []byte("<T as U>::f;{lambda()#1} 3\n"), 3},
		{"folded that begins like JSON", "folded", []byte("{lambda()#1};f 3\n"), 3},
		{"folded with control bytes", "folded", []byte("a\x01\x02;\x1b[2J 3\n"), 3},
		{"folded that begins like a message", "folded", []byte("\n\x01 3\n"), 3},
		{"folded with a bad line first", "folded", []byte("some remark\na;b 3\n"), 3},
		{"one long line", "folded", []byte(strings.Repeat("f;", 60_000) + "g 3"), 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, data := range [][]byte{tt.data, zipped(t, tt.data)} {
				if tt.format == "pprof" && data[0] != 0x1f {
					continue
				}
				if tt.format == "pprof" && bytes.Equal(data, tt.data) {
					z, err := gzip.NewReader(bytes.NewReader(data))
					require.NoError(t, err)
					plain, err := io.ReadAll(z)
					require.NoError(t, err)
					data = plain
				} else if tt.format == "pprof" {
					data = tt.data
				}
				p := read(t, data, formats.ReadOptions{})
				assert.Equal(t, tt.format, p.Format.Name)
				assert.Equal(t, tt.total, p.Graphs[p.Default].Total(0))
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, data, err string }{
		{"recording of perf", "PERFILE2xxxxxxxx", "print it first: perf script"},
		{"recording of Java", "FLR\x00\x00\x02", "jfrconv"},
		{"zstd", "\x28\xb5\x2f\xfd\x00", "zstd -d"},
		{"gzip twice", string(zipped(t, zipped(t, []byte("a 1\n")))), "compressed twice"},
		{"damaged gzip", "\x1f\x8b\x08\x00rubbish", "decompress: the file is damaged"},
		{"cut gzip", string(zipped(t, bytes.Repeat([]byte("a;b 1\n"), 9999))[:60]), "damaged or cut off"},
		{"program", "\x7fELF\x02\x01", "a program"},
		{"foreign SVG", `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>`, "only files that flametel wrote"},
		{"page", "<!DOCTYPE html><html></html>", "page of HTML"},
		{"other JSON", `{"traceEvents":[]}`, "neither OTLP profiles nor"},
		{"text", "hello\nworld\n", "this is none of svg, folded, pprof, speedscope, otlp, otlp-json, perf-script"},
		{"bytes", "\x00\x01\x02\x03", "this is none of"},
		{"damaged message", "\x0a\x05\x08\x01", "this is none of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := formats.Read(strings.NewReader(tt.data), formats.ReadOptions{})
			require.ErrorContains(t, err, tt.err)
			assert.NotContains(t, err.Error(), "\n")
			assert.LessOrEqual(t, len(err.Error()), 250)
		})
	}
	_, err := formats.Read(strings.NewReader("a 1\n"), formats.ReadOptions{Format: "nothing"})
	assert.ErrorContains(t, err, `format "nothing" cannot be read`)
	_, err = formats.Read(strings.NewReader("x\ny z\n"), formats.ReadOptions{Format: "folded"})
	assert.ErrorContains(t, err, "no line is a stack and a count; line 1: ")
}

// A chosen format is not looked for.
func TestReadAsChosen(t *testing.T) {
	p := read(t, []byte("{\"traceEvents\": 5\n"), formats.ReadOptions{Format: "folded"})
	assert.Equal(t, int64(5), p.Graphs[0].Total(0))
}

func TestNotes(t *testing.T) {
	assert.Equal(t, []string{`1 line was left out: line 2: no space between stack and count`}, read(t, []byte("a;b 1\nbad\n"), formats.ReadOptions{}).Notes)
	assert.Equal(t, []string{`2 lines were left out, the first of them: line 2: no space between stack and count`}, read(t, []byte("a;b 1\nbad\nbad\n"), formats.ReadOptions{}).Notes)
	assert.Equal(t, []string{"counts have decimals, so all were multiplied by 10"}, read(t, []byte("a;b 1.5\n"), formats.ReadOptions{}).Notes)
}

// Any chain of conversions keeps every total, the depth of the deepest stack and,
// where the formats have them, names and kinds.
func TestConversionsConserveTotals(t *testing.T) {
	written4 := formats.WrittenNames()
	require.Equal(t, []string{"svg", "folded", "pprof", "speedscope"}, written4)
	for _, name := range []string{"off_cpu", "cpu"} {
		g := stackgen.New(400, 7).Graph()
		if name == "off_cpu" {
			g.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
		}
		want := foldedText(t, g)
		for _, first := range written4 {
			for _, second := range written4 {
				p := read(t, written(t, first, g), formats.ReadOptions{Detail: true})
				q := read(t, written(t, second, p.Graphs[0]), formats.ReadOptions{Detail: true})
				got := q.Graphs[0]
				assert.Equal(t, g.Total(0), got.Total(0), "%s %s", first, second)
				want, text := want, foldedText(t, got)
				if first == "pprof" || second == "pprof" {
					// The invented stacks have calls that were inlined into code of
					// another kind, which pprof cannot say.
					want, text = strings.ReplaceAll(want, "_[i]", ""), strings.ReplaceAll(text, "_[i]", "")
				}
				assert.True(t, want == text, "%s %s", first, second)
				assert.Equal(t, maxDepth(g), maxDepth(got), "%s %s", first, second)
			}
		}
	}
}

func maxDepth(g *callgraph.Graph) int32 {
	var deepest int32
	for _, d := range g.Depths() {
		deepest = max(deepest, d)
	}
	return deepest
}

// Totals beyond what floating-point numbers count exactly survive, too.
func TestConversionsOfLargeTotals(t *testing.T) {
	m := callgraph.NewMerger(1)
	m.Add([]int32{m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process}), m.Frame(callgraph.Frame{Name: "f", Kind: callgraph.User})}, 0, 1<<60+1)
	for _, name := range formats.WrittenNames() {
		assert.Equal(t, int64(1<<60+1), read(t, written(t, name, m.Graph()), formats.ReadOptions{}).Graphs[0].Total(0), name)
	}
}

func TestDeepStackThroughEveryFormat(t *testing.T) {
	m := callgraph.NewMerger(1)
	stack := []int32{m.Frame(callgraph.Frame{Name: "app", Kind: callgraph.Process})}
	for i := range 10_000 {
		stack = append(stack, m.Frame(callgraph.Frame{Name: fmt.Sprint("f", i%5), Kind: callgraph.User}))
	}
	m.Add(stack, 0, 3)
	for _, name := range formats.WrittenNames() {
		g := read(t, written(t, name, m.Graph()), formats.ReadOptions{}).Graphs[0]
		assert.Equal(t, int32(10_001), maxDepth(g), name)
		assert.Equal(t, int64(3), g.Total(0), name)
	}
}

// Bytes do not depend on the order in which stacks came.
func TestShuffledInputGivesTheSameBytes(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(foldedText(t, stackgen.New(200, 3).Graph())), "\n")
	want := map[string][]byte{}
	base := stackgen.New(200, 4).Graph()
	for run := range uint64(20) {
		rng := rand.New(rand.NewPCG(run, 0))
		rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		g := read(t, []byte(strings.Join(lines, "\n")), formats.ReadOptions{}).Graphs[0]
		for _, name := range formats.WrittenNames() {
			got := written(t, name, g)
			if run == 0 {
				want[name] = got
			}
			require.True(t, bytes.Equal(want[name], got), "%s differs", name)
		}
		var diff bytes.Buffer
		require.NoError(t, svg.WriteComparison(&diff, callgraph.Compare(base, g, callgraph.CompareOptions{}), svg.Options{}))
		if run == 0 {
			want["diff"] = diff.Bytes()
		}
		require.True(t, bytes.Equal(want["diff"], diff.Bytes()), "the comparison differs")
	}
}

func TestDifferentialFlameGraphsAreRead(t *testing.T) {
	a, b := stackgen.New(100, 1).Graph(), stackgen.New(100, 2).Graph()
	var out bytes.Buffer
	require.NoError(t, svg.WriteComparison(&out, callgraph.Compare(a, b, callgraph.CompareOptions{}), svg.Options{MaxBytes: -1}))
	p := read(t, out.Bytes(), formats.ReadOptions{})
	require.NotNil(t, p.Comparison)
	assert.Equal(t, a.Total(0), p.Comparison.Sides[callgraph.Before].Total)
	assert.Equal(t, b.Total(0), p.Graphs[0].Total(0))
	assert.Equal(t, []string{"it is a differential flame graph, of which the second side is taken"}, p.Notes)
}

func TestExtensions(t *testing.T) {
	for path, want := range map[string]string{
		"a.svg": "svg", "x/a.b.folded": "folded", "a.txt": "folded", "a.pb.gz": "pprof", "a.pprof": "pprof",
		"a.speedscope.json": "speedscope", "a.json": "", "a": "", "a.otlp": "", "svg": "",
	} {
		f, ext := formats.ByExtension(path)
		if want == "" {
			assert.Nil(t, f, path)
			continue
		}
		require.NotNil(t, f, path)
		assert.Equal(t, want, f.Name)
		assert.True(t, strings.HasSuffix(path, ext))
	}
}

// TestCorpus reads small files as other programs wrote them.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/corpus/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			p := read(t, data, formats.ReadOptions{})
			got := fmt.Sprintf("%s %s %d %s\n", p.Format.Name, p.Graphs[p.Default].Name(), p.Graphs[p.Default].Total(0), p.Graphs[p.Default].SampleType.Unit)
			var text bytes.Buffer
			require.NoError(t, folded.Write(&text, p.Graphs[p.Default], folded.Options{Modules: true}))
			golden(t, filepath.Join("testdata", "read", filepath.Base(path)+".txt"), got+text.String())
		})
	}
}

// FuzzRead reads anything, of any format.
func FuzzRead(f *testing.F) {
	g := stackgen.New(3, 1).Graph()
	for _, name := range []string{"folded", "speedscope"} {
		f.Add(written(f, name, g))
	}
	f.Add([]byte(perfText))
	files, err := filepath.Glob("testdata/corpus/*")
	require.NoError(f, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	protobuf, json := messages(f, 2)
	f.Add(protobuf)
	f.Add(json)
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := formats.Read(bytes.NewReader(data), formats.ReadOptions{})
		if err != nil {
			require.Nil(t, p)
			return
		}
		require.NotEmpty(t, p.Graphs)
		require.Less(t, p.Default, len(p.Graphs))
		for _, g := range p.Graphs {
			require.GreaterOrEqual(t, g.Total(0), int64(0))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := stackgen.New(n, 1).Graph()
		protobuf, json := messages(b, n)
		inputs := map[string][]byte{"otlp": protobuf, "otlp-json": json}
		for _, name := range formats.WrittenNames() {
			inputs[name] = written(b, name, g)
		}
		for _, name := range formats.ReadNames() {
			if inputs[name] == nil {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(inputs[name])))
				for b.Loop() {
					read(b, inputs[name], formats.ReadOptions{})
				}
			})
		}
	}
}
