//go:build integration

package svg_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

// smallGraph has wide frames whose labels fit.
const smallGraph = `nginx;main;serve;read_[k] 400
nginx;main;serve;parse 300
nginx;main;log 100
postgres;main;query;sort 150
postgres;main;query;JIT::plan_[j] 40
postgres;[libc.so.6]+0x10 10
`

func TestInBrowser(t *testing.T) {
	b := startBrowser(t)
	for name, run := range map[string]func(*testing.T, *browser){
		"zoom and reset":                 testZoom,
		"bars of narrow frames":          testBars,
		"search equals brute force":      testSearch,
		"search is exact under zoom":     testSearchZoomed,
		"search box by keyboard":         testKeyboard,
		"bad expression":                 testBadExpression,
		"tooltip":                        testTooltip,
		"without script":                 testWithoutScript,
		"strict content security policy": testPolicy,
		"in an image element":            testImage,
		"two copies in a page":           testTwoCopies,
		"hostile names run nothing":      testHostile,
		"deep stack":                     testDeep,
		"elements are bounded":           testElements,
		"icicle":                         testIcicle,
		"no samples":                     testEmpty,
		"numbers beyond 2^53":            testRough,
	} {
		t.Run(name, func(t *testing.T) { run(t, b) })
	}
}

func fileOf(t *testing.T, text string, opts svg.Options) string {
	t.Helper()
	return tempFile(t, "profile.svg", render(t, parse(t, text), opts))
}

func testZoom(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	before := tb.labels()
	hidden := `Array.from(document.querySelectorAll('[role=button]')).find(g => g.textContent === 'Reset zoom').getAttribute('visibility')`
	assert.Equal(t, "hidden", eval[string](tb, "%s", hidden))

	tb.click("serve")
	after := tb.labels()
	assert.ElementsMatch(t, []string{"all", "nginx", "main", "serve", "read", "parse"}, after,
		"callers stay, what is beside them goes")
	assert.Contains(t, tb.text("hint"), "700 samples (70.00% of all)")
	assert.Equal(t, "visible", eval[string](tb, "%s", hidden))
	width := eval[float64](tb, `(() => {
		const text = Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === 'serve');
		return +text.previousElementSibling.getAttribute('width');
	})()`)
	assert.InDelta(t, 1200-2*16, width, 1, "the frame takes the whole width")

	tb.click("main") // a caller
	assert.NotContains(t, tb.labels(), "query")
	assert.Contains(t, tb.labels(), "log")
	tb.clickControl("nginx") // a crumb
	assert.Contains(t, tb.text("hint"), "80.00%")
	tb.clickControl("Reset zoom")
	assert.Equal(t, before, tb.labels())
	tb.click("query")
	tb.key("\x1b")
	assert.Equal(t, before, tb.labels())
}

func testBars(t *testing.T, b *browser) {
	var text strings.Builder
	fmt.Fprintln(&text, "app;main;hot 100000")
	for i := range 300 {
		fmt.Fprintf(&text, "app;main;rare%03d;deeper 10\n", i)
	}
	tb := b.tab(t)
	tb.open(fileOf(t, text.String(), svg.Options{}))
	assert.Contains(t, tb.text("foot"), "600 frames narrower than 1 px (2.91%")
	assert.NotContains(t, tb.labels(), "rare000")
	x := eval[[]float64](tb, `(() => {
		const bars = Array.from(document.querySelectorAll('[data-ft=frames] rect[fill="#F1F3F5"]'));
		bars[0].scrollIntoView({ block: 'center' });
		const r = bars[0].getBoundingClientRect();
		return [bars.length, r.x + r.width / 2, r.y + r.height / 2];
	})()`)
	require.InDelta(t, 1, x[0], 0, "one bar for all narrow siblings")
	tb.run(chromedp.MouseClickXY(x[1], x[2]))
	n := eval[int](tb, `document.querySelectorAll('[data-ft=frames] rect').length`)
	assert.Equal(t, 3+2*300, n, "the bar opens into its frames")
}

// bruteForce is the share of stacks with a match, from folded text.
func bruteForce(t *testing.T, text string, re *regexp.Regexp, below string) (matched, total int64) {
	t.Helper()
	for line := range strings.Lines(text) {
		stack, count, _ := cutLast(strings.TrimSpace(line))
		n, err := strconv.ParseInt(count, 10, 64)
		require.NoError(t, err)
		if below != "" && !strings.HasPrefix(stack+";", below) {
			continue
		}
		total += n
		for name := range strings.SplitSeq(stack, ";") {
			if re.MatchString(name) {
				matched += n
				break
			}
		}
	}
	return matched, total
}

func cutLast(line string) (stack, count string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	return line[:i], line[i+1:], true
}

// expressions returns regular expressions made of parts of real names.
func expressions(g *callgraph.Graph, n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	out := []string{"^$", ".", "nginx|java", "^std::", "[0-9a-f]+$", "no such name"}
	for len(out) < n {
		name := g.Frames[r.IntN(len(g.Frames))].Name
		from := r.IntN(len(name))
		part := regexp.QuoteMeta(name[from:min(len(name), from+1+r.IntN(6))])
		out = append(out, []string{part, "^" + part, part + "$", part + ".*e", part + "|wake"}[r.IntN(5)])
	}
	return out
}

func testSearch(t *testing.T, b *browser) {
	for n, cases := range map[int]int{1_000: 50, 10_000: 10} {
		g := stackgen.New(n, 5).Graph()
		var text bytes.Buffer
		require.NoError(t, folded.Write(&text, g, folded.Options{NoAnnotations: true}))
		tb := b.tab(t)
		tb.run(chromedp.EmulateViewport(640, 200)) // little to paint
		tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{})))
		list := expressions(g, cases)
		for i, result := range tb.searchAll(list) {
			e := list[i]
			matched, total := bruteForce(t, text.String(), regexp.MustCompile(e), "")
			want := fmt.Sprintf("Matched: %.2f%% (%s samples", 100*float64(matched)/float64(total), commas(matched))
			if matched == 1 {
				want = strings.TrimSuffix(want, "s")
			}
			assert.Contains(t, result, want, "%d stacks, expression %q", n, e)
		}
	}
}

func testSearchZoomed(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.click("serve")
	assert.Contains(t, tb.searchFor("parse|query"), "Matched: 49.00% (490 samples, 2 functions) · here 42.86%")
	assert.Contains(t, tb.searchFor("main"), "Matched: 99.00% (990 samples, 1 function) · here 100.00%",
		"a caller that matches counts, and nested matches count once")
}

func testKeyboard(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("/")
	tb.key("read|")
	tb.key("sort")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 55.00%%')`)
	marked := eval[[]string](tb, `Array.from(document.querySelectorAll('[data-ft=frames] rect[fill="#FFDE3B"]')).map(r => r.nextElementSibling.textContent)`)
	assert.ElementsMatch(t, []string{"read", "sort"}, marked)
	tb.key("\x1b")
	assert.Empty(t, tb.text("matched"))
	assert.False(t, eval[bool](tb, `document.querySelector('input') !== null`))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('[data-ft=frames] rect[fill="#FFDE3B"]').length`))
	tb.clickControl("Search ( / )")
	assert.True(t, eval[bool](tb, `document.activeElement.localName === 'input'`))
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
	}
	assert.Contains(t, tb.searchFor("operator"), "Matched: 37.50%", "the next good one works")
	assert.Empty(t, tb.text("problem"))
}

func testTooltip(t *testing.T, b *browser) {
	tb := b.tab(t)
	g := graphOf([]callgraph.Frame{
		{Name: "app", Kind: callgraph.Process},
		{Name: "foo<(bar)1>(int)", Kind: callgraph.User, Inlined: true, Module: "/usr/bin/app", File: "/src/foo.cc", StartLine: 12},
	}, []callgraph.Frame{{Name: "app", Kind: callgraph.Process}})
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{})))
	x, y := tb.center("foo<(bar)1>(int)")
	tb.run(chromedp.MouseEvent("mouseMoved", x, y))
	tip := `Array.from(document.querySelectorAll('svg > g[pointer-events=none] text')).map(t => t.textContent)`
	assert.Equal(t, []string{
		"foo<(bar)1>(int)", "user, inlined · /usr/bin/app", "/src/foo.cc:12", "1 sample (33.33%), self 1 sample (33.33%)",
	}, eval[[]string](tb, "%s", tip))
	tb.run(chromedp.MouseEvent("mouseMoved", 5, 5))
	assert.Empty(t, eval[[]string](tb, "%s", tip))
}

// shot returns the pixels of a page from a height downwards.
func (b *tab) shot(url string, scripts bool) image.Image {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !scripts})
	require.NoError(b.t, err)
	b.run(chromedp.Navigate(url))
	if scripts {
		b.waitFor(`document.querySelector('[role=button]') !== null`)
	}
	return b.pixels()
}

func (b *tab) pixels() image.Image {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	img, err := png.Decode(bytes.NewReader(data))
	require.NoError(b.t, err)
	return img
}

// differing is the share of pixels that differ below a height.
func differing(a, b image.Image, top int) float64 {
	n, differ := 0, 0
	for y := top; y < a.Bounds().Max.Y; y++ {
		for x := range a.Bounds().Max.X {
			n++
			if a.At(x, y) != b.At(x, y) {
				differ++
			}
		}
	}
	return float64(differ) / float64(n)
}

const framesTop = 140 // below all controls

func testWithoutScript(t *testing.T, b *browser) {
	tb := b.tab(t)
	url := "file://" + fileOf(t, smallGraph, svg.Options{})
	with, without := tb.shot(url, true), tb.shot(url, false)
	assert.Less(t, differing(with, without, framesTop), 0.005, "both layers look the same")
	body := render(t, parse(t, smallGraph), svg.Options{})
	assert.NotContains(t, strings.Split(body, "<script>")[0], "Reset", "no control without script")
	assert.NotContains(t, strings.Split(body, "<script>")[0], "Search")
}

func testPolicy(t *testing.T, b *browser) {
	body := render(t, parse(t, smallGraph), svg.Options{})
	for _, policy := range []string{"default-src 'none'", "sandbox", "default-src 'self'; style-src 'none'"} {
		tb := b.tab(t)
		plain := tb.shot(serve(t, "", "image/svg+xml", body), false)
		strict := b.tab(t)
		got := strict.shotAsIs(serve(t, policy, "image/svg+xml", body))
		assert.Zero(t, differing(plain, got, 0), policy)
	}
}

// shotAsIs loads a page on which scripts do not run anyway.
func (b *tab) shotAsIs(url string) image.Image {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
	return b.pixels()
}

func testImage(t *testing.T, b *browser) {
	body := render(t, parse(t, smallGraph), svg.Options{})
	src := serve(t, "", "image/svg+xml", body)
	page := serve(t, "", "text/html", `<!DOCTYPE html><body style="margin:0"><img style="display:block" src="`+src+`">`)
	got := b.tab(t).shotAsIs(page)
	want := b.tab(t).shot(src, false)
	assert.Less(t, differing(want, got, 0), 0.005)
}

func testTwoCopies(t *testing.T, b *browser) {
	one := inline(render(t, parse(t, smallGraph), svg.Options{Title: "one"}))
	two := inline(render(t, parse(t, smallGraph), svg.Options{Title: "two"}))
	tb := b.tab(t)
	tb.run(chromedp.Navigate(serve(t, "", "text/html", "<!DOCTYPE html><meta charset=utf-8><body>"+one+two)))
	tb.waitFor(`document.querySelectorAll('svg').length === 2 && document.querySelectorAll('[role=button]').length === 4`)
	before := eval[string](tb, `document.querySelectorAll('svg')[1].querySelector('[data-ft=frames]').innerHTML`)
	tb.key("/")
	assert.False(t, eval[bool](tb, `document.querySelector('input') !== null`), "a page keeps its keys")
	tb.click("serve") // in the first copy, which then has the focus
	tb.key("/")
	tb.key("parse")
	tb.waitFor(`document.querySelectorAll('[data-ft=matched]')[0].textContent.startsWith('Matched: 30.00%%')`)
	assert.Empty(t, eval[string](tb, `document.querySelectorAll('[data-ft=matched]')[1].textContent`))
	assert.Equal(t, before, eval[string](tb, `document.querySelectorAll('svg')[1].querySelector('[data-ft=frames]').innerHTML`))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('[id]').length`))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('style').length`))
	assert.NotRegexp(t, `\bwindow\.\w`, strings.Split(one, "<script>")[1], "nothing global")
}

func testHostile(t *testing.T, b *browser) {
	names := []string{
		`</script><script>window.pwned=1</script>`, `]]><script>window.pwned=1</script>`,
		`"><img src=x onerror="window.pwned=1">`, `' onclick='window.pwned=1`, `</title><script>window.pwned=1</script>`,
		`</metadata><script>window.pwned=1</script>`, `--><script>window.pwned=1</script>`, `javascript:window.pwned=1`,
		"&lt;script&gt;window.pwned=1&lt;/script&gt;", `</svg><script>window.pwned=1</script>`, "\x1b[31m\x00\u202eabc",
	}
	var stacks [][]callgraph.Frame
	for _, name := range names {
		stacks = append(stacks, []callgraph.Frame{{Name: name, Kind: callgraph.Process}, {Name: name, Kind: callgraph.User, Module: name, File: name}})
	}
	g := graphOf(stacks...)
	g.SampleType.Type, g.Meta.Hosts = names[0], []string{names[1]}
	file := render(t, g, svg.Options{Title: names[0]})
	use := func(tb *tab) {
		for _, label := range tb.labels() {
			x, y := tb.center(label)
			tb.run(chromedp.MouseEvent("mouseMoved", x, y), chromedp.MouseClickXY(x, y))
			if !strings.HasPrefix(label, "all") {
				tb.clickControl("all")
			}
		}
		tb.searchFor("script")
		assert.Contains(t, tb.text("matched"), "Matched: ")
		assert.True(t, eval[bool](tb, `window.pwned === undefined`))
		assert.Equal(t, 1, eval[int](tb, `document.querySelectorAll('script').length`))
		assert.Zero(t, eval[int](tb, `document.querySelectorAll('img').length`))
	}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", file))
	use(tb)
	tb = b.tab(t)
	tb.run(chromedp.Navigate(serve(t, "", "text/html", "<!DOCTYPE html><meta charset=utf-8><body>"+inline(file))))
	tb.waitFor(`document.querySelector('[role=button]') !== null`)
	tb.click("all")
	use(tb)
}

func testDeep(t *testing.T, b *browser) {
	stack := make([]callgraph.Frame, 10_000)
	for i := range stack {
		stack[i] = callgraph.Frame{Name: fmt.Sprintf("level_%d", i), Kind: callgraph.User}
	}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, graphOf(stack), svg.Options{})))
	assert.Less(t, eval[float64](tb, `+document.documentElement.getAttribute('height')`), 32_767.0)
	assert.Contains(t, tb.text("foot"), "9,501 frames beyond level 500")
	for deepest := 498; deepest < 9_999; {
		tb.click(fmt.Sprintf("level_%d", deepest))
		assert.Contains(t, tb.text("foot"), "callers nearer to the root are not shown")
		next := 0
		for _, label := range tb.labels() {
			n, err := strconv.Atoi(strings.TrimPrefix(label, "level_"))
			require.NoError(t, err, label)
			next = max(next, n)
		}
		require.Greater(t, next, deepest)
		deepest = next
	}
	assert.Contains(t, tb.labels(), "level_9999")
}

func testElements(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, stackgen.New(100_000, 1).Graph(), svg.Options{})))
	assert.Less(t, eval[int](tb, `document.querySelectorAll('*').length`), 15_000)
	tb.run(chromedp.EmulateViewport(3000, 900))
	tb.waitFor(`document.documentElement.viewBox.baseVal.width > 2500`)
	assert.Less(t, eval[int](tb, `document.querySelectorAll('*').length`), 15_000)
}

func testIcicle(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{Layout: svg.Icicle}))
	_, root := tb.center("nginx")
	_, leaf := tb.center("read")
	assert.Less(t, root, leaf)
	tb.click("serve")
	_, leaf = tb.center("read")
	_, caller := tb.center("serve")
	assert.Less(t, caller, leaf)
}

func testEmpty(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.run(chromedp.Navigate("file://" + fileOf(t, "", svg.Options{})))
	assert.Contains(t, eval[string](tb, `document.documentElement.textContent`), "No samples")
	for _, width := range []int64{1200, 1700} {
		tb.run(chromedp.EmulateViewport(width, 900))
		tb.waitFor(`(() => {
			const box = [...document.querySelectorAll('text')].find(e => e.textContent === 'No samples').getBoundingClientRect();
			return Math.abs(box.left + box.right - innerWidth) < 4;
		})()`)
	}
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('[role=button]').length`))
}

func testRough(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;a 9007199254740993\napp;b 9007199254740993\n", svg.Options{}))
	assert.Contains(t, tb.searchFor("a$"), "50.00% (≈ ")
}
