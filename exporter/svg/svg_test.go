package svg_test

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

var update = flag.Bool("update", false, "write the golden files")

// withoutPayload takes out what a golden file cannot hold: script and style have
// files of their own, and the compressed bytes depend on the compressor.
func withoutPayload(file string) string {
	file = regexp.MustCompile(`(?s)<script>.*</script>`).ReplaceAllString(file, "<script/>")
	file = regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(file, "<style/>")
	return regexp.MustCompile(`<metadata data-ft="graph">[^<]*</metadata>`).ReplaceAllString(file, "<metadata/>")
}

// parseXML fails unless the file is well-formed; it returns all titles.
func parseXML(t testing.TB, file string) (titles []string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(file))
	inTitle := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return titles
		}
		require.NoError(t, err)
		switch tok := tok.(type) {
		case xml.StartElement:
			inTitle = tok.Name.Local == "title"
			if inTitle {
				titles = append(titles, "")
			}
		case xml.CharData:
			if inTitle {
				titles[len(titles)-1] += string(tok)
			}
		case xml.EndElement:
			inTitle = false
		}
	}
}

func sample() *callgraph.Graph {
	app := callgraph.Frame{Name: "nginx", Kind: callgraph.Process}
	main := callgraph.Frame{Name: "main", Kind: callgraph.User, Type: "native", Module: "/usr/sbin/nginx"}
	m := callgraph.NewMerger(1)
	add := func(n int64, frames ...callgraph.Frame) {
		var ids []int32
		for _, f := range frames {
			ids = append(ids, m.Frame(f))
		}
		m.Add(ids, 0, n)
	}
	add(700, app, main, callgraph.Frame{Name: "ksys_read", Kind: callgraph.Kernel, Module: "[kernel]"})
	add(250, app, main, callgraph.Frame{Name: "std::sort<int>", Kind: callgraph.User, Inlined: true, Module: "/usr/sbin/nginx", File: "/src/sort.h", StartLine: 12})
	add(40, app, callgraph.Frame{Name: "LazyCompile:~f", Kind: callgraph.JIT, Module: "[anon]"})
	add(9, app, callgraph.Frame{Name: "[libc.so.6]+0x1f2a0", Module: "/usr/lib/libc.so.6"})
	for i := range 40 {
		add(1, app, main, callgraph.Frame{Name: fmt.Sprintf("rare%02d", i), Kind: callgraph.User})
	}
	add(100_000, app, main)
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	g.PeriodType = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}
	g.Period = 10101010
	g.Meta = callgraph.Meta{
		Start: stackgen.Start(), Duration: 30 * time.Second, Hosts: []string{"host-a"},
		Accounting: &callgraph.Accounting{
			Taken: 102_000, Kept: 101_039, Idle: 800, Filtered: 61, Lost: 100, Missed: 16,
			LostBy:          []callgraph.Loss{{Cause: "counts_full", Count: 100}},
			TruncatedStacks: 3, FrequencyAsked: 99, FrequencyAchieved: 98.72, CPUs: 4,
		},
	}
	return g
}

func TestGolden(t *testing.T) {
	few := parse(t, "app;main;f 30\napp;main;g_[k] 7\n")
	idle := callgraph.NewMerger(1).Graph()
	idle.Meta.Accounting = &callgraph.Accounting{Taken: 2970, Idle: 2970}
	offCPU := parse(t, "app;main;wait 1500000000\napp;main;read_[k] 2500000\n")
	offCPU.SampleType = callgraph.ValueType{Type: "off_cpu", Unit: "nanoseconds"}
	tests := map[string]struct {
		graph *callgraph.Graph
		opts  svg.Options
	}{
		"flame.svg":   {sample(), svg.Options{}},
		"icicle.svg":  {sample(), svg.Options{Layout: svg.Icicle, Title: "nginx & friends"}},
		"few.svg":     {few, svg.Options{}},
		"empty.svg":   {idle, svg.Options{}},
		"off_cpu.svg": {offCPU, svg.Options{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			file := render(t, tt.graph, tt.opts)
			parseXML(t, file)
			got := withoutPayload(file)
			path := filepath.Join("testdata", name)
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

func TestSelfContained(t *testing.T) {
	file := render(t, sample(), svg.Options{})
	static := withoutPayload(file)
	for _, forbidden := range []string{" id=", " class=", "href", "onload", "onclick", "<image", "<use"} {
		assert.NotContains(t, static, forbidden)
	}
	// The only addresses are names of XML namespaces.
	for _, address := range regexp.MustCompile(`https?://[^'"\s]+`).FindAllString(file, -1) {
		assert.Contains(t, []string{"http://www.w3.org/2000/svg", "http://www.w3.org/"}, address)
	}
	styles := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindAllStringSubmatch(file, -1)
	require.Len(t, styles, 1)
	for _, forbidden := range []string{"url(", "@import", "@font-face", "expression", "<"} {
		assert.NotContains(t, styles[0][1], forbidden)
	}
	rule := regexp.MustCompile(`(?m)^([^@{}][^{]*)\{`)
	for _, selector := range rule.FindAllStringSubmatch(styles[0][1], -1) {
		for part := range strings.SplitSeq(selector[1], ",") {
			assert.True(t, strings.HasPrefix(strings.TrimSpace(part), "svg[data-ft=root]"), "only our own elements: %s", part)
		}
	}
	for _, forbidden := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest", "import("} {
		assert.NotContains(t, file, forbidden)
	}
}

func TestScriptIsSmallAndSafeInCDATA(t *testing.T) {
	script, err := os.ReadFile("script.min.js")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(script), 24<<10)
	assert.NotContains(t, string(script), "]]>")
	assert.NotContains(t, string(script), "</script")
}

func TestDeterministic(t *testing.T) {
	set := stackgen.New(2000, 7)
	want := render(t, set.Graph(), svg.Options{})
	for i := range 20 {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		r.Shuffle(len(set.Stacks), func(j, k int) { set.Stacks[j], set.Stacks[k] = set.Stacks[k], set.Stacks[j] })
		require.Equal(t, want, render(t, set.Graph(), svg.Options{}))
	}
}

func TestScriptIsMadeFromItsSource(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "script.min.js")
	out, err := exec.Command("go", "run", "../../internal/tools/joinjs", fresh, "script").CombinedOutput()
	require.NoError(t, err, string(out))
	want, err := os.ReadFile(fresh)
	require.NoError(t, err)
	got, err := os.ReadFile("script.min.js")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go generate makes it")
}

// hostileNames are names of which other renderers made files that no parser
// takes, or that lost their tails.
func hostileNames() []string {
	names := []string{
		"", " ", "a;b c\n<d>&\"e", "abc\xe6\x97", "]]>", "</script><script>alert(1)</script>", "&#0;", "&amp;",
		"<!--", "-->", "<![CDATA[", "\ufffe", "\uffff", "\u2028", "\u2029", "\u202eevil", "\u200f", "\xc3\x28", "\xed\xa0\x80",
		"operator()(int) const::{lambda(auto:1)#2}", "(anonymous namespace)::f", "main.(*T).M", "<T as U>::f",
		"foo<(bar)1>(int)", "std::vector<int, std::allocator<int> >::operator[](unsigned long)",
		strings.Repeat("x", 64<<10), strings.Repeat("\u65e5", 200), "\U0001f468\u200d\U0001f469\u200d\U0001f467",
		strings.Repeat("A<B", 1000),
	}
	for c := range 256 {
		names = append(names, string([]byte{'a', byte(c), 'b'}))
	}
	return names
}

func TestHostileNamesAreWellFormedXML(t *testing.T) {
	for _, name := range hostileNames() {
		g := hostileGraph(name)
		file := render(t, g, svg.Options{Title: name})
		titles := parseXML(t, file)
		require.True(t, utf8.ValidString(file), "%q", name)
		require.GreaterOrEqual(t, len(titles), 4)
		checkCharacters(t, file)
	}
}

// hostileGraph has a name everywhere a source can choose one.
func hostileGraph(name string) *callgraph.Graph {
	g := graphOf([]callgraph.Frame{
		{Name: name, Kind: callgraph.Process},
		{Name: name, Kind: callgraph.User, Module: name, File: name, Type: name, StartLine: 3},
	})
	g.SampleType = callgraph.ValueType{Type: name, Unit: name}
	g.PeriodType = callgraph.ValueType{Type: name, Unit: name}
	g.Period = 1
	g.Meta.Hosts = []string{name, name + "2"}
	g.Meta.Accounting = &callgraph.Accounting{Taken: 2, Lost: 1, LostBy: []callgraph.Loss{{Cause: name, Count: 1}}}
	return g
}

// checkCharacters fails on a character that XML 1.0 forbids or that turns text
// around unseen.
func checkCharacters(t testing.TB, file string) {
	t.Helper()
	for _, r := range file {
		bad := r < 0x20 && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff ||
			r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x2028 || r == 0x2029
		if bad {
			t.Fatalf("character %U in the file", r)
		}
	}
}

func TestXmllintTakesHostileNames(t *testing.T) {
	_, err := exec.LookPath("xmllint")
	require.NoError(t, err, "make test installs xmllint")
	var stacks [][]callgraph.Frame
	for _, name := range hostileNames() {
		stacks = append(stacks, []callgraph.Frame{{Name: name, Kind: callgraph.User}})
	}
	path := filepath.Join(t.TempDir(), "hostile.svg")
	require.NoError(t, os.WriteFile(path, []byte(render(t, graphOf(stacks...), svg.Options{})), 0o600))
	out, err := exec.Command("xmllint", "--noout", "--nonet", "--huge", path).CombinedOutput()
	assert.NoError(t, err, string(out))
}

func TestTitlesHaveTheWholeName(t *testing.T) {
	for name, want := range map[string]string{
		"foo<(bar)1>(int)":                          "foo<(bar)1>(int)",
		"operator()(int) const::{lambda(auto:1)#2}": "operator()(int) const::{lambda(auto:1)#2}",
		"(anonymous namespace)::f":                  "(anonymous namespace)::f",
		"main.(*T).M":                               "main.(*T).M",
		"<T as U>::f":                               "<T as U>::f",
		"a;b c\n<d>&\"e":                            `a;b c\n<d>&"e`,
		"abc\xe6\x97":                               `abc\xe6\x97`,
		"x\x1b[31m":                                 `x\x1b[31m`,
		"\u202eevil":                                `\u202eevil`,
	} {
		titles := parseXML(t, render(t, hostileGraph(name), svg.Options{}))
		last := titles[len(titles)-1]
		assert.Equal(t, want, strings.Split(last, "\n")[0])
		assert.Contains(t, last, "1 "+"")
		assert.Contains(t, last, "100.00%")
		assert.Contains(t, last, "self")
		assert.Contains(t, last, "user")
	}
}

func TestLabelsAreCutByCharacter(t *testing.T) {
	name := strings.Repeat("\u65e5", 200)
	for other := range 60 {
		m := callgraph.NewMerger(1)
		m.Add([]int32{m.Frame(callgraph.Frame{Name: name, Kind: callgraph.User})}, 0, 100)
		m.Add([]int32{m.Frame(callgraph.Frame{Name: "zz", Kind: callgraph.User})}, 0, int64(other*other))
		file := render(t, m.Graph(), svg.Options{})
		parseXML(t, file)
		require.True(t, utf8.ValidString(file))
	}
}

func TestEmptyGraphsGiveTheReason(t *testing.T) {
	tests := []struct {
		name       string
		accounting *callgraph.Accounting
		want       string
	}{
		{"unknown", nil, "The source sent no samples."},
		{"nothing taken", &callgraph.Accounting{FrequencyAsked: 1}, "No samples were taken in this time."},
		{"too short", &callgraph.Accounting{FrequencyAsked: 0.4}, "The recording of 2 s was shorter than one sampling period of 2.5 s."},
		{"idle", &callgraph.Accounting{Taken: 2970, Idle: 2970}, "2,970 samples were taken, all of idle CPUs."},
		{"one", &callgraph.Accounting{Taken: 1, Idle: 1}, "1 sample was taken, all of idle CPUs."},
		{"filtered", &callgraph.Accounting{Taken: 198, Filtered: 198}, "198 samples were taken, none of the processes asked for."},
		{"filtered and idle", &callgraph.Accounting{Taken: 198, Filtered: 98, Idle: 100},
			"198 samples were taken, none of the processes asked for: 98 of others, 100 of idle CPUs."},
		{"filtered and lost", &callgraph.Accounting{
			Taken: 100, Idle: 50, Filtered: 45, Lost: 5,
			LostBy: []callgraph.Loss{{Cause: "stacks_full", Count: 5}},
		}, "100 samples were taken, none could be kept: 50 of idle CPUs, 45 of processes not asked for, 5 lost. Lost by stacks_full: 5."},
		{"gone", &callgraph.Accounting{Taken: 7, Kept: 7}, "7 samples were taken, but none arrived."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := callgraph.NewMerger(1).Graph()
			g.Meta.Accounting, g.Meta.Duration = tt.accounting, 2*time.Second
			file := render(t, g, svg.Options{})
			parseXML(t, file)
			assert.Equal(t, 2, strings.Count(file, `<text x="50%"`), "in the middle, however wide")
			assert.Contains(t, file, ">No samples<")
			assert.Contains(t, file, tt.want)
		})
	}
}

func TestWarnings(t *testing.T) {
	file := render(t, parse(t, "a;b 37\n"), svg.Options{})
	assert.Contains(t, file, "Only 37 samples: shares are rough (a frame shown at 50% may be off by 16 points).")
	assert.NotContains(t, render(t, parse(t, "a;b 100\n"), svg.Options{}), "are rough")
	g := parse(t, "a;b 9223372036854775807\na;c 1\n")
	g.Meta.NotKept, g.Meta.Invalid = 5, 6
	file = render(t, g, svg.Options{})
	assert.Contains(t, file, "Counts were cut at the largest 64-bit number.")
	assert.Contains(t, file, "5 samples (0.00%) without stack: the memory limit was reached.")
	assert.Contains(t, file, "6 malformed samples were left out.")
	assert.Contains(t, file, "9,223,372,036,854,775,807 samples")
	assert.Equal(t, int64(math.MaxInt64), g.Total(0))
}

func TestProvenance(t *testing.T) {
	file := render(t, sample(), svg.Options{})
	for _, want := range []string{
		"101,039 samples", "30.0 s", "99 Hz asked, 98.7 Hz achieved", "100 of 102,000 taken lost (0.10%)",
		"% of all frames unknown", "host-a", "2026-01-02 03:04:05 UTC", "800 idle", "61 filtered", "3 stacks truncated",
		"100 lost: counts_full", "Taken 102000 = kept 101039 + idle 800 + filtered 61 + lost 100; CPUs 4",
	} {
		assert.Contains(t, file, want)
	}
}

func TestFramesNotDrawnAreCounted(t *testing.T) {
	file := render(t, sample(), svg.Options{})
	// 40 of 101,039 samples are 0.46 px, so all of these merge into nothing.
	assert.Contains(t, file, "42 frames narrower than 1 px (0.09% of 101,039 samples) are not drawn one by one.")
	assert.NotContains(t, withoutPayload(file), "rare00")
}

func TestDeepStackIsCappedWithANote(t *testing.T) {
	stack := make([]callgraph.Frame, 10_000)
	for i := range stack {
		stack[i] = callgraph.Frame{Name: fmt.Sprintf("level_%d", i), Kind: callgraph.User}
	}
	file := render(t, graphOf(stack), svg.Options{})
	parseXML(t, file)
	assert.Contains(t, file, "9,501 frames beyond level 500 are not drawn.")
	height := regexp.MustCompile(`height="(\d+)"`).FindStringSubmatch(file)[1]
	assert.Len(t, height, 4, "below what browsers can show")
	assert.Len(t, decode(t, file).names, 10_000, "the payload has all frames")
}

// FuzzNames puts a name everywhere. The file is well-formed XML.
func FuzzNames(f *testing.F) {
	for _, name := range hostileNames()[:25] {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		file := render(t, hostileGraph(name), svg.Options{Title: name})
		checkCharacters(t, file)
		parseXML(t, file)
	})
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := stackgen.New(n, 1).Graph()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				size = len(render(b, g, svg.Options{}))
			}
			b.ReportMetric(float64(size)/1e6, "MB")
		})
	}
}
