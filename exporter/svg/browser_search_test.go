//go:build integration

package svg_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func searchCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"search equals brute force":            testSearch,
		"search is exact under zoom":           testSearchZoomed,
		"search is exact bottom-up":            testSearchReversed,
		"search is exact in bars":              testSearchInBar,
		"search box by keyboard":               testSearchBox,
		"bad expression":                       testBadExpression,
		"case is smart and can be set":         testCase,
		"next and previous match":              testNext,
		"next match that is too narrow":        testNextNarrow,
		"search for modules":                   testModuleSearch,
		"expression that takes for ever":       testCatastrophe,
		"only the last of many searches shows": testTyping,
	}
}

// foldedInput is a folded file, read by other means than ours.
type foldedInput struct {
	names  []string
	stacks [][]int // indices of names
	counts []int64
}

func readInput(t *testing.T, text string) *foldedInput {
	t.Helper()
	in := &foldedInput{}
	ids := map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		require.NoError(t, err)
		var stack []int
		for name := range strings.SplitSeq(line[:i], ";") {
			id, ok := ids[name]
			if !ok {
				id = len(in.names)
				ids[name] = id
				in.names = append(in.names, name)
			}
			stack = append(stack, id)
		}
		in.stacks, in.counts = append(in.stacks, stack), append(in.counts, n)
	}
	return in
}

// match is what a search has to find.
type match struct {
	total, matched, self int64
	here, hereMatched    int64 // of stacks that begin with a name
}

// bruteForce tests every stack, with case as the page does it.
func (in *foldedInput) bruteForce(expression, below string) match {
	if !regexp.MustCompile(`[A-Z]`).MatchString(regexp.MustCompile(`\\.`).ReplaceAllString(expression, "")) {
		expression = "(?i)" + expression
	}
	re := regexp.MustCompile(expression)
	hit := make([]bool, len(in.names))
	for i, name := range in.names {
		hit[i] = re.MatchString(name)
	}
	var m match
	for i, stack := range in.stacks {
		n := in.counts[i]
		inside := false
		for _, id := range stack {
			inside = inside || hit[id]
		}
		below := in.names[stack[0]] == below
		m.total += n
		if below {
			m.here += n
		}
		if inside {
			m.matched += n
			if below {
				m.hereMatched += n
			}
		}
		if hit[stack[len(stack)-1]] {
			m.self += n
		}
	}
	return m
}

// expressions returns regular expressions made of parts of real names.
func expressions(g *callgraph.Graph, n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	out := []string{"^$", ".", "nginx|java", "^std::", "[0-9a-f]+$", "no such name", "Read|Write", "(lock|poll)+e"}
	for len(out) < n {
		name := g.Frames[r.IntN(len(g.Frames))].Name
		from := r.IntN(len(name))
		part := regexp.QuoteMeta(name[from:min(len(name), from+1+r.IntN(6))])
		out = append(out, []string{part, "^" + part, part + "$", part + ".*e", part + "|wake"}[r.IntN(5)])
	}
	return out
}

func testSearch(t *testing.T, b *browser) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		g := stackgen.New(n, 5).Graph()
		var text bytes.Buffer
		require.NoError(t, folded.Write(&text, g, folded.Options{NoAnnotations: true}))
		in := readInput(t, text.String())
		tb := b.tab(t)
		tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{Layout: svg.Icicle})))
		tb.click("nginx")
		list := expressions(g, 50)
		for i, result := range tb.searchAll(list) {
			want := in.bruteForce(list[i], "nginx")
			unit := " samples, "
			if want.matched == 1 {
				unit = " sample, "
			}
			assert.Contains(t, result, fmt.Sprintf("Matched: %.2f%% (%s%s", percentOf(want.matched, want.total), commas(want.matched), unit), "%d stacks, %q", n, list[i])
			assert.Contains(t, result, fmt.Sprintf("), self %.2f%% · here %.2f%%", percentOf(want.self, want.total), percentOf(want.hereMatched, want.here)), "%d stacks, %q", n, list[i])
		}
	}
}

func percentOf(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }

func testSearchZoomed(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.click("serve")
	assert.Equal(t, "Matched: 49.00% (490 samples, 2 functions), self 30.00% · here 42.86%, self 42.86%", tb.searchFor("parse|query"))
	assert.Equal(t, "Matched: 99.00% (990 samples, 1 function), self 0.00% · here 100.00%, self 0.00%", tb.searchFor("main"),
		"a caller that matches counts, and nested matches count once")
}

func testSearchReversed(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("r")
	want := "Matched: 70.00% (700 samples, 1 function), self 0.00%"
	assert.Equal(t, want, tb.searchFor("serve"))
	tb.key("\x1b")
	tb.click("parse")
	assert.Equal(t, want+" · here 100.00%, self 0.00%", tb.searchFor("serve"))
}

func testSearchInBar(t *testing.T, b *browser) {
	var text strings.Builder
	fmt.Fprintln(&text, "app;hot 100000")
	for i := range 300 {
		fmt.Fprintf(&text, "app;rare%03d;deeper 10\n", i)
	}
	tb := b.tab(t)
	tb.open(fileOf(t, text.String(), svg.Options{Layout: svg.Icicle}))
	require.True(t, tb.clickBar())
	assert.Contains(t, tb.searchFor("rare[01]"), "Matched: 1.94% (2,000 samples, 200 functions), self 0.00% · here 66.67%")
}

func testSearchBox(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("/")
	assert.True(t, eval[bool](tb, `document.activeElement?.localName === 'input'`))
	tb.key("read|")
	tb.key("sort")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 55.00%%')`)
	assert.Equal(t, "read|sort", eval[string](tb, `document.querySelector('input').value`), "the slash is not in it")
	assert.ElementsMatch(t, []string{"read", "sort"}, tb.hits())
	tb.key("\x1b")
	assert.Empty(t, tb.text("matched"))
	assert.Empty(t, tb.hits())
	assert.False(t, eval[bool](tb, `document.activeElement?.localName === 'input'`))
	tb.run(chromedp.KeyEvent("f", chromedp.KeyModifiers(2)))
	assert.True(t, eval[bool](tb, `document.activeElement?.localName === 'input'`), "Ctrl-F, too")
}

// hits returns the labels of the frames that are marked as found.
func (b *tab) hits() []string {
	b.t.Helper()
	return eval[[]string](b, `Array.from(document.querySelectorAll('[data-ft=frames] rect[fill="#FFE14D"]')).map(r => r.nextElementSibling.textContent)`)
}

func testBadExpression(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;operator[](int) 3\napp;a*b 1\napp;(x 4\n", svg.Options{}))
	for e, share := range map[string]string{
		"(": "87.50%", "*": "12.50%", "operator[": "37.50%", "](int": "37.50%", "a{2,1}": "0.00%", `\`: "0.00%",
	} {
		result := tb.searchFor(e)
		assert.Contains(t, result, "Matched: "+share, "%q", e)
		assert.Regexp(t, `^Not a regular expression \(.+\): searched as plain text\.$`, tb.text("problem"), "%q", e)
		assert.Equal(t, "true", eval[string](tb, `document.querySelector('input').getAttribute('aria-invalid')`))
		assert.Contains(t, eval[string](tb, `getComputedStyle(document.querySelector('input')).textDecoration`), "wavy", "underlined")
	}
	assert.Contains(t, tb.searchFor("operator"), "Matched: 37.50%", "the next good one works")
	assert.Empty(t, tb.text("problem"))
}

func testCase(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "a;Read 1\na;read 2\na;x 1\n", svg.Options{}))
	assert.Contains(t, tb.searchFor("read"), "Matched: 75.00%", "small letters match both")
	assert.Contains(t, tb.searchFor("Read"), "Matched: 25.00%", "a capital only itself")
	assert.Contains(t, tb.searchFor(`read\S?`), "Matched: 75.00%", "a class is no capital")
	tb.searchFor("read")
	tb.clickControl("Aa")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 50.00%%')`)
	assert.Equal(t, "true", eval[string](tb, `document.querySelector('button[aria-pressed]').getAttribute('aria-pressed')`))
	tb.run(js(`document.activeElement?.blur()`))
	tb.key("i")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 75.00%%')`)
}

func testNext(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.searchFor("parse|sort|read")
	tb.run(js(`document.activeElement?.blur()`))
	for i, want := range []string{"read", "parse", "sort", "read"} {
		tb.key("n")
		tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.endsWith('outermost match %d of 3')`, i%3+1)
		assert.Contains(t, tb.focused(), want+",", "the heaviest first")
	}
	tb.key("N")
	assert.Contains(t, tb.focused(), "sort,")
	assert.Contains(t, tb.text("matched"), "· outermost match 3 of 3")
}

func testNextNarrow(t *testing.T, b *browser) {
	var text strings.Builder
	fmt.Fprintln(&text, "app;main;hot 10000000")
	for i := range 50 {
		fmt.Fprintf(&text, "app;main;rare%02d;needle 3\n", i)
	}
	fmt.Fprintln(&text, "app;main;rare50;needle 4")
	tb := b.tab(t)
	tb.open(fileOf(t, text.String(), svg.Options{}))
	assert.Contains(t, tb.searchFor("needle"), "(154 samples, 1 function)", "found, although nothing of it is drawn")
	tb.run(js(`document.activeElement?.blur()`))
	tb.key("n")
	assert.Contains(t, tb.text("matched"), "· outermost match 1 of 51")
	assert.Contains(t, tb.focused(), "needle,")
	assert.Contains(t, tb.labels(), "rare50", "zoomed to the heaviest")
}

func testModuleSearch(t *testing.T, b *browser) {
	lib := callgraph.Frame{Name: "malloc", Kind: callgraph.User, Module: "/usr/lib/libc.so.6"}
	app := callgraph.Frame{Name: "main", Kind: callgraph.User, Module: "/usr/bin/app"}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, graphOf([]callgraph.Frame{app}, []callgraph.Frame{app, lib}, []callgraph.Frame{app, lib, app}), svg.Options{})))
	libc := "Matched: 83.33% (5 samples, 1 function), self 33.33%"
	for _, e := range []string{"module:libc", `module:^libc\.so`, "module:lib/libc", "module:^/usr/lib/"} {
		assert.Equal(t, libc, tb.searchFor(e), e)
	}
	for _, e := range []string{"module:^lib$", `module:^c\.so`, "module:^/lib/"} {
		assert.Contains(t, tb.searchFor(e), "Matched: 0.00%", e)
	}
	assert.Contains(t, eval[string](tb, `document.querySelector('input').placeholder + document.querySelector('input').title`), "module:")
}

func testCatastrophe(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;"+strings.Repeat("a", 60)+"! 3\napp;b 1\n", svg.Options{}))
	for _, e := range []string{"^(a+)+$", "(a|aa)*$!x", "a*a*a*a*a*a*a*a*a*a*a*a*a*c"} {
		start := time.Now()
		assert.Contains(t, tb.searchFor(e), "Matched: 0.00%", e)
		assert.Contains(t, tb.text("problem"), "The expression takes too long here: searched as plain text.", e)
		assert.Less(t, time.Since(start), time.Minute)
	}
	assert.Contains(t, tb.searchFor("(b|c)+"), "Matched: 25.00%", "the page lives")
	assert.Empty(t, tb.text("problem"))
}

func testTyping(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;"+strings.Repeat("a", 60)+"! 3\napp;b 1\n", svg.Options{}))
	tb.run(js(`(() => {
		const input = document.querySelector('input');
		for (const text of ['^(a+)+$', 'b']) {
			input.value = text;
			input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
		}
	})()`))
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 25')`)
	tb.run(chromedp.Sleep(2500 * time.Millisecond))
	assert.Contains(t, tb.text("matched"), "Matched: 25.00%", "the slow one does not come back")
}
