//go:build integration

package svg_test

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
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

// TestInBrowser runs all cases in one browser. Each is a function of its own
// below or in another file.
func TestInBrowser(t *testing.T) {
	b := startBrowser(t)
	for _, cases := range []map[string]func(*testing.T, *browser){
		viewCases(), searchCases(), modeCases(), panelCases(), stateCases(), accessCases(), embeddingCases(), comparisonCases(),
	} {
		for name, run := range cases {
			t.Run(name, func(t *testing.T) { run(t, b) })
		}
	}
}

func viewCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"zoom and reset":          testZoom,
		"bars of narrow frames":   testBars,
		"tooltip":                 testTooltip,
		"tooltip goes":            testTooltipGoes,
		"deep stack":              testDeep,
		"elements are bounded":    testElements,
		"icicle":                  testIcicle,
		"no samples":              testEmpty,
		"numbers beyond 2^53":     testRough,
		"labels as without it":    testLabels,
		"wheel zooms and pans":    testWheel,
		"drag pans":               testDrag,
		"scrolls as asked":        testScroll,
		"resize":                  testResize,
		"a narrow window":         testNarrowWindow,
		"lines break":             testLinesBreak,
		"the root stays in sight": testRootInSight,
		"a narrow tower":          testTower,
		"few or merged":           testMerged,
		"marks of special names":  testMarks,
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
	hidden := `Array.from(document.querySelectorAll('button')).find(g => g.textContent === 'Reset zoom').hidden`
	assert.True(t, eval[bool](tb, "%s", hidden))

	tb.click("serve")
	after := tb.labels()
	assert.ElementsMatch(t, []string{"all", "nginx", "main", "serve", "read", "parse"}, after,
		"callers stay, what is beside them goes")
	assert.Contains(t, tb.text("hint"), "700 samples (70.00% of all)")
	assert.False(t, eval[bool](tb, "%s", hidden))
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
	require.Equal(t, 1, tb.drawn(`[fill="#F1F3F5"]`), "one bar for all narrow siblings")
	require.True(t, tb.clickBar())
	assert.Equal(t, 3+2*300, tb.drawn(""), "the bar opens into its frames")
}

func testTooltip(t *testing.T, b *browser) {
	tb := b.tab(t)
	g := graphOf([]callgraph.Frame{
		{Name: "app", Kind: callgraph.Process},
		{Name: "foo<(bar)1>(int)", Kind: callgraph.User, Inlined: true, Module: "/usr/bin/app", File: "/src/foo.cc", StartLine: 12},
	}, []callgraph.Frame{{Name: "app", Kind: callgraph.Process}})
	g.PeriodType, g.Period = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}, 2e9
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{})))
	x, y := tb.center("foo<(bar)1>(int)")
	tb.run(chromedp.MouseEvent("mouseMoved", x, y))
	assert.Equal(t, strings.Join([]string{
		"foo<(bar)1>(int)", "U user, inlined · /usr/bin/app", "/src/foo.cc:12",
		"1 sample (33.33%) of all, self 1 sample (33.33%)", "≈ 2.00 s of CPU time", "33.33% of its caller",
		"Everywhere: 1 sample (33.33%), self 1 sample (33.33%), at 1 place",
	}, "\n"), tb.tip())
	tb.run(chromedp.MouseEvent("mouseMoved", 5, 5))
	assert.Empty(t, tb.tip())
	tb.click("app")
	tb.hover("foo<(bar)1>(int)")
	assert.Contains(t, tb.tip(), "33.33% of its caller")

	tb.open(fileOf(t, "a;f;f;g 3\na;g 5\na;f 2\n", svg.Options{}))
	tb.click("f")
	tb.hover("g")
	assert.Contains(t, tb.tip(), "60.00% of the zoomed frame\n100.00% of its caller\nEverywhere: 8 samples (80.00%), self 8 samples (80.00%), at 2 places")
	tb.hover("f")
	assert.Contains(t, tb.tip(), "Everywhere: 5 samples (50.00%), self 2 samples (20.00%), at 2 places", "recursion counts once")
}

// testTooltipGoes looks for what is left of the tooltip after a key.
func testTooltipGoes(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	for _, key := range []string{"k", "t", "/", kb.Escape, "v"} {
		tb.hover("parse")
		tb.waitFor(`document.querySelector('[data-ft=tip]') !== null`)
		tb.key(key)
		assert.Empty(t, tb.tip(), "after %q", key)
		tb.key(kb.Escape)
		tb.run(js(`document.activeElement?.blur()`), chromedp.MouseEvent("mouseMoved", 5, 5))
	}
	tb.hover("parse")
	tb.click("parse")
	assert.Empty(t, tb.tip(), "after a click")
	tb.key("0")
	tb.run(js(`document.activeElement?.blur()`), chromedp.MouseEvent("mouseMoved", 5, 5))
	tb.key(kb.ArrowUp)
	at := strings.SplitN(tb.tip(), "\n", 2)[0]
	assert.NotEmpty(t, at)
	tb.key(kb.Escape)
	assert.Contains(t, tb.tip(), at, "of the frame with the focus it stays")
	tb.key("k")
	assert.Contains(t, tb.tip(), at)
	tb.key("t")
	assert.Empty(t, tb.tip(), "until the focus goes")
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
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('button').length`))
}

func testRough(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;a 9007199254740993\napp;b 9007199254740993\n", svg.Options{}))
	assert.Contains(t, tb.searchFor("a$"), "50.00% (≈ ")
	assert.Contains(t, tb.text("head"), "Counts exceed 2^53")
}

// testLabels compares how both layers cut names.
func testLabels(t *testing.T, b *browser) {
	graphs := []*callgraph.Graph{stackgen.New(2000, 8).Graph()}
	names := append(hostileNames(), "ns::Class<int>::method(int)", "example.com/a/b.(*T).M", "JS:*f /a/b.js:1:2", "f.isra.0", "a::{{closure}}")
	for part := range slices.Chunk(names, 60) {
		var stacks [][]callgraph.Frame
		for _, name := range part {
			stacks = append(stacks, []callgraph.Frame{{Name: name, Kind: callgraph.User}, {Name: "f(int)", Kind: callgraph.User}})
		}
		graphs = append(graphs, graphOf(stacks...))
	}
	for _, g := range graphs {
		tb := b.tab(t)
		file := render(t, g, svg.Options{})
		_ = tb.shot(file, true)
		got := tb.labels()
		_ = tb.shot(file, false)
		want := tb.labels()
		require.Greater(t, len(want), 20)
		sort.Strings(want)
		sort.Strings(got)
		assert.Equal(t, want, got)
	}
}

func testWheel(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	wide := tb.boxOf("query")[2]
	x, y := tb.center("query")
	wheel := func(dx, dy float64, modifiers int64) {
		_, err := chromedp.Call(tb.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: "mouseWheel", X: x, Y: y, DeltaX: dx + 0.001, DeltaY: dy + 0.001, Modifiers: modifiers, // zero is left out
		})
		require.NoError(t, err)
	}
	wheel(0, -200, 2)
	// Zoomed where the pointer is. A wheel may come as several events.
	tb.waitFor(`+Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === 'query').previousElementSibling.getAttribute('width') > %f`, wide*1.3)
	left := tb.boxOf("query")[0]
	wheel(150, 0, 0)
	tb.waitFor(`(() => {
		const text = Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === 'query');
		return text && +text.previousElementSibling.getAttribute('x') < %f;
	})()`, left-20)
	tb.key("\x1b")
	assert.InDelta(t, wide, tb.boxOf("query")[2], 0.01)
}

func testDrag(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.click("serve")
	x, y := tb.center("read")
	tb.run(chromedp.MouseEvent("mousePressed", x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	for i := range 10 {
		tb.run(chromedp.MouseEvent("mouseMoved", x-float64(i*20), y, chromedp.ButtonLeft))
	}
	tb.waitFor(`Array.from(document.querySelectorAll('[data-ft=frames] text')).some(t => t.textContent === 'postgres')`)
	tb.run(chromedp.MouseEvent("mouseReleased", x-180, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	assert.Contains(t, tb.labels(), "postgres", "a drag is no click")
}

// testScroll goes down a tall picture and up again step by step: what follows the
// window must not hold on to it.
func testScroll(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, strings.Repeat("deeper;", 400)+"leaf 1000\n", svg.Options{Layout: svg.Icicle}))
	tb.run(js(`window.seen = []; addEventListener('scroll', () => window.seen.push(scrollY))`))
	y := 0.0
	for _, by := range []float64{1500, 1500, -20, -20, -20, -300, -20, 20} {
		_, err := chromedp.Call(tb.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: "mouseWheel", X: 600, Y: 500, DeltaX: 1e-300, DeltaY: by, // zero is left out
		})
		require.NoError(t, err)
		from, to := min(y, y+by), max(y, y+by)
		y += by
		tb.waitFor(`Math.abs(scrollY - %f) < 0.5 || window.seen.some(y => y < %f || y > %f)`, y, from-0.5, to+0.5)
		for _, at := range eval[[]float64](tb, `window.seen.splice(0)`) {
			require.True(t, from-0.5 <= at && at <= to+0.5, "on its way from %v by %v it is at %v", y-by, by, at)
		}
	}
}

func testResize(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	for _, width := range []int64{640, 1200, 2400} {
		tb.run(chromedp.EmulateViewport(width, 900))
		tb.waitFor(`Math.abs(document.documentElement.viewBox.baseVal.width - %d) < 30`, width)
		all := tb.boxOf("all")
		assert.InDelta(t, float64(width)-32, all[2], 30, "the whole width")
		overflow := `Array.from(document.querySelectorAll('[data-ft=frames] text')).filter(t => {
			const r = t.previousElementSibling.getBoundingClientRect(), b = t.getBoundingClientRect();
			return b.right > r.right + 1;
		}).map(t => t.textContent)`
		assert.Empty(t, eval[[]string](tb, "%s", overflow), "labels stay within their frames")
	}
}

// testNarrowWindow looks where the buttons are and what is below them.
func testNarrowWindow(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{Title: "A title of some length"}))
	_, title := tb.place("text")
	for _, width := range []int64{500, 700, 1200} {
		tb.run(chromedp.EmulateViewport(width, 900))
		tb.waitFor(`Math.abs(document.querySelector('.bar').getBoundingClientRect().right - %d) < 32`, width)
		for _, scrolled := range []int{0, 100} {
			tb.run(js(fmt.Sprintf(`scrollTo(%d, 0)`, scrolled)))
			tb.waitFor(`Math.abs(document.querySelector('.bar').getBoundingClientRect().left) < 1`)
			assert.Empty(t, eval[[]string](tb, `Array.from(document.querySelectorAll('.bar > :not([hidden])')).filter(e => {
				const r = e.getBoundingClientRect(), t = document.querySelector('text').getBoundingClientRect();
				return r.left < 0 || r.right > innerWidth || r.width < 20 || r.left < t.right && r.bottom > t.top + 2;
			}).map(e => e.title + e.textContent)`), "out of the window or over the title at %d", width)
		}
		tb.run(js(`scrollTo(0, 0)`))
		tb.clickControl("Menu")
		left, right := tb.place(".panel")
		assert.GreaterOrEqual(t, left, 0.0)
		assert.LessOrEqual(t, right, float64(width))
		tb.key(kb.Escape)
	}
	assert.Zero(t, eval[float64](tb, `document.documentElement.viewBox.baseVal.y + 0`), "room above the title only where it is needed")
	assert.Less(t, title, 500.0)
}

// testLinesBreak looks whether all text at the top is within the window, large enough
// to be read, and not over other text.
func testLinesBreak(t *testing.T, b *browser) {
	g := graphOf(
		[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, {Name: callgraph.NameTruncated}, {Name: "f", Kind: callgraph.User, Inlined: true}},
		[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, {Name: "k", Kind: callgraph.Kernel}},
		[]callgraph.Frame{{Name: "app", Kind: callgraph.Process}, {Name: "j", Kind: callgraph.JIT, Module: "/tmp/a-module-with-a-long-name.so"}},
	)
	g.Meta = callgraph.Meta{Duration: 15e9, Hosts: []string{"a-host-with-a-rather-long-name"}, Accounting: &callgraph.Accounting{
		Taken: 123456, Kept: 6, Idle: 100000, Lost: 17, LostBy: []callgraph.Loss{{Cause: "stacks_full", Count: 17}},
		FrequencyAsked: 99, FrequencyAchieved: 98.9, Filtered: 23433, TruncatedStacks: 12345,
	}}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{Title: "What a host did while it was looked at, with a title too long for it"})))
	// Rows are parts of their own, or what stands beside those in the element.
	const bad = `(() => {
		const rows = [...document.querySelectorAll('[data-ft=frames] > rect, tspan')].map(e => e.getBoundingClientRect());
		for (const e of document.querySelectorAll('[data-ft=head] text, [data-ft=legend] text, [data-ft=foot]')) {
			const range = document.createRange();
			range.setEndBefore(e.querySelector('tspan') || e.appendChild(new Comment()));
			range.setStart(e, 0);
			rows.push(range.getBoundingClientRect());
		}
		const seen = rows.filter(r => r.width);
		return seen.filter(r => r.right > innerWidth - 14 || r.left < 14 || r.height < 11 ||
			seen.some(o => r !== o && Math.min(r.right, o.right) - Math.max(r.left, o.left) > 2 && Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top) > 5)
		).map(r => [r.left, r.top, r.right, r.bottom].join());
	})()`
	for _, width := range []int64{640, 700, 900, 1200, 700} {
		tb.run(chromedp.EmulateViewport(width, 900))
		tb.waitFor(`document.documentElement.viewBox.baseVal.width === innerWidth && innerWidth <= %d`, width)
		assert.Empty(t, eval[[]string](tb, bad), "at %d", width)
		assert.Contains(t, tb.text("head"), "lost (0.01%) · 0.00% of all frames unknown")
		tb.key("k")
		assert.Empty(t, eval[[]string](tb, bad), "another legend at %d", width)
		tb.key("kk")
	}
	tb.run(chromedp.EmulateViewport(1600, 900))
	tb.waitFor(`document.documentElement.viewBox.baseVal.y + 0 === 0`)
	assert.Empty(t, eval[[]string](tb, bad))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('[data-ft=head] tspan').length`), "in one row again")
}

// testRootInSight turns a picture that fills many windows.
func testRootInSight(t *testing.T, b *browser) {
	const text = "deeper;"
	inSight := func(tb *tab, label string) {
		t.Helper()
		tb.waitFor(`(() => {
			const text = [...document.querySelectorAll('[data-ft=frames] text')].find(t => t.textContent === %q);
			const r = text.previousElementSibling.getBoundingClientRect();
			return r.top > 0 && r.bottom < innerHeight;
		})()`, label)
	}
	for _, layout := range []svg.Layout{svg.Icicle, svg.Flame} {
		tb := b.tab(t)
		tb.open(fileOf(t, "app;x;"+strings.Repeat(text, 300)+"leaf 10\napp;y 90\n", svg.Options{Layout: layout}))
		inSight(tb, "all")
		tb.key("v")
		inSight(tb, "all")
		tb.run(chromedp.Reload())
		tb.waitFor(ready)
		inSight(tb, "all")
		tb.key("v")
		inSight(tb, "all")
		tb.key("v")
		tb.click("x")
		tb.click("leaf")
		tb.key("v")
		inSight(tb, "leaf")
	}
}

// place returns the left and right edges of an element.
func (b *tab) place(selector string) (left, right float64) {
	b.t.Helper()
	at := eval[[]float64](b, `(() => {
		const r = document.querySelector(%q).getBoundingClientRect();
		return [r.left, r.right];
	})()`, selector)
	return at[0], at[1]
}

// testTower zooms into a tower too narrow to be drawn, step by step.
func testTower(t *testing.T, b *browser) {
	g := stackgen.New(50_000, 2).Graph()
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{Layout: svg.Icicle})))
	assert.NotEmpty(t, tb.text("foot"))
	for range 30 {
		if tb.text("foot") == "" || !tb.clickBar() {
			return
		}
	}
	t.Fatal("after 30 bars there are still some")
}

func testMerged(t *testing.T, b *browser) {
	g := stackgen.New(20_000, 9).Graph()
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{MaxBytes: 300_000})))
	assert.Contains(t, tb.text("head"), "frames of the smallest subtrees")
	assert.Regexp(t, `^Matched: \d`, tb.searchFor(`small frames\)$`), "what is merged adds up and can be found")
	assert.Contains(t, tb.searchFor("."), "Matched: 100.00%")
}

func testMarks(t *testing.T, b *browser) {
	g := graphOf(
		[]callgraph.Frame{{Name: callgraph.NameTruncated}, {Name: "f", Kind: callgraph.User}, {Name: "g", Kind: callgraph.User, Inlined: true}},
		[]callgraph.Frame{{Name: "k", Kind: callgraph.Kernel}}, []callgraph.Frame{{Name: "j", Kind: callgraph.JIT}},
	)
	tb := b.tab(t)
	paths := `Array.from(document.querySelectorAll('[data-ft=frames] > path')).map(p => p.getAttribute('stroke') + p.getAttribute('stroke-dasharray') + p.getAttribute('d'))`
	file := render(t, g, svg.Options{})
	_ = tb.shot(file, true)
	assert.Len(t, eval[[]string](tb, "%s", paths), 5, "kernel, JIT, unknown, inlined, cut off")
	_ = tb.shot(file, false)
	assert.Len(t, eval[[]string](tb, "%s", paths), 5)
	for _, words := range []string{"K kernel", "J JIT", "? unknown", "Share ending in:", "dotted: inlined", "striped: cut off"} {
		assert.Contains(t, tb.text("legend"), words)
	}
}

// drawn is the number of frames and bars with some attributes: those without a label
// are parts of paths.
func (b *tab) drawn(with string) int {
	b.t.Helper()
	return eval[int](b, `Array.from(document.querySelectorAll('[data-ft=frames] :is(rect, g path)%s')).reduce((n, e) => n + (e.getAttribute('d') || 'M').split('M').length - 1, 0)`, with)
}

// clickBar clicks a bar of narrow frames, which then has to open.
func (b *tab) clickBar() bool {
	b.t.Helper()
	at := eval[[]float64](b, `(() => {
		const bar = Array.from(document.querySelectorAll('[data-ft=frames] :is(rect, g path)[fill="#F1F3F5"]')).pop();
		if (!bar) return [];
		const [x, y] = bar.localName === 'rect' ? [+bar.getAttribute('x'), +bar.getAttribute('y')] : bar.getAttribute('d').split('M').pop().match(/[\d.]+/g).map(Number);
		const place = () => new DOMPoint(x + 0.5, y + 8).matrixTransform(bar.getScreenCTM());
		scrollBy(0, place().y - innerHeight / 2);
		return [place().x, place().y];
	})()`)
	if len(at) == 0 {
		return false
	}
	before := b.text("hint")
	b.run(chromedp.MouseClickXY(at[0], at[1]))
	require.NotEqual(b.t, before, b.text("hint"), "a bar opens")
	return true
}
