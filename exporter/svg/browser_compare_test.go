//go:build integration

package svg_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/svg"
)

func comparisonCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"comparison as without script": testComparisonColors,
		"comparison hides what's gone": testElided,
		"comparison swapped":           testSwap,
		"comparison: what moved":       testMovers,
		"comparison in orange":         testOrange,
		"comparison without a side":    testEmptySide,
		"comparison bottom-up":         testComparisonReversed,
		"comparison has its legend":    testLegendFits,
	}
}

func openComparison(t *testing.T, b *browser, before, after string) *tab {
	t.Helper()
	c := comparison(t, before, after, callgraph.CompareOptions{Labels: [2]string{"v1", "v2"}})
	tb := b.tab(t)
	tb.open(tempFile(t, "diff.svg", renderComparison(t, c, svg.Options{Layout: svg.Icicle})))
	return tb
}

func testComparisonColors(t *testing.T, b *browser) {
	c := comparison(t, beforeText, afterText, callgraph.CompareOptions{Labels: [2]string{"v1", "v2"}})
	file := renderComparison(t, c, svg.Options{Layout: svg.Icicle})
	tb := b.tab(t)
	tb.open(tempFile(t, "diff.svg", file))
	for _, name := range []string{"parse", "sort", "legacy", "old", "cache", "same", "main"} {
		assert.Equal(t, fillOf(t, file, name), tb.fill(name), name)
	}
	tb.hover("cache")
	assert.Contains(t, tb.tip(), "v1 → v2: 0.00% → 14.99% (+14.99 points), new")
	assert.Equal(t, 1, eval[int](tb, `document.querySelectorAll('[data-ft=frames] path[stroke="#7A0000"]').length`), "outlined")
	assert.Contains(t, tb.tip(), "3,000 samples (14.99%) of all in v2, self 3,000 samples (14.99%)\n")
	assert.Contains(t, tb.tip(), "Everywhere in v2: ")
	assert.Contains(t, file, "3,000 samples (14.99%) of all in v2, self")
	assert.GreaterOrEqual(t, eval[float64](tb, `(() => {
		const line = document.querySelector('[data-ft=frames] path[stroke="#7A0000"]'), { y, height } = line.getBBox();
		const label = Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === 'cache');
		return y + height - line.getAttribute('stroke-width') / 2 - label.getAttribute('y');
	})()`), 3.0, "the outline leaves the descent of the label alone")
	assert.Less(t, differing(tb.shot(file, true), tb.shot(file, false), 190, 0), 0.005)
}

// testLegendFits looks for the end of the legend in narrow and wide windows.
func testLegendFits(t *testing.T, b *browser) {
	file := renderComparison(t, comparison(t, beforeText, afterText, callgraph.CompareOptions{}), svg.Options{})
	tb := b.tab(t)
	right := `document.querySelector('[data-ft=legend]').getBoundingClientRect().right`
	_ = tb.shot(file, false)
	assert.LessOrEqual(t, eval[float64](tb, "%s", right), 1200.0, "without script")
	tb.open(tempFile(t, "diff.svg", file))
	for _, width := range []int64{640, 900, 1200} {
		tb.run(chromedp.EmulateViewport(width, 900))
		tb.waitFor(`Math.abs(document.documentElement.viewBox.baseVal.width - %d) < 30`, width)
		assert.LessOrEqual(t, eval[float64](tb, "%s", right), float64(width))
		assert.Contains(t, tb.text("legend"), "striped: gone")
	}
}

func testElided(t *testing.T, b *browser) {
	tb := openComparison(t, b, beforeText, afterText)
	all, gone := tb.boxOf("all")[2], tb.boxOf("legacy")[2]
	assert.InDelta(t, all*0.2/1.2, gone, 1, "as wide as it was, beside all that is")
	tb.key("e")
	assert.NotContains(t, tb.labels(), "legacy")
	assert.InDelta(t, all*9000/20010, tb.boxOf("parse")[2], 1, "the rest fills the width")
	assert.Contains(t, tb.text("hint"), "what is gone is hidden")
}

func testSwap(t *testing.T, b *browser) {
	tb := openComparison(t, b, beforeText, afterText)
	red := tb.fill("cache")
	tb.key("w")
	assert.Contains(t, tb.text("hint"), "swapped: v2 → v1")
	assert.Equal(t, red, tb.fill("legacy"), "now it is what is new")
	tb.hover("legacy")
	assert.Contains(t, tb.tip(), "v2 → v1: 0.00% → 20.00% (+20.00 points), new")
	tb.key("w")
	assert.Equal(t, red, tb.fill("cache"))
}

func testMovers(t *testing.T, b *browser) {
	tb := openComparison(t, b, beforeText, afterText)
	tb.key("t")
	rows := tb.rows()
	assert.Equal(t, "old", rows[0][0])
	assert.Equal(t, "20.00% → 0.00% (-20.00 points), gone", rows[0][1])
	assert.Equal(t, "cache", rows[1][0])
	assert.Equal(t, "0.00% → 14.99% (+14.99 points), new", rows[1][1])
	assert.Equal(t, "parse", rows[2][0])
	c := comparison(t, beforeText, afterText, callgraph.CompareOptions{})
	var want []string
	for _, m := range c.Movers() {
		want = append(want, m.Frame.Name)
	}
	var got []string
	for _, r := range rows[:3] {
		got = append(got, r[0])
	}
	assert.Equal(t, want[:3], got, "as the command line has it")
}

func testOrange(t *testing.T, b *browser) {
	tb := openComparison(t, b, beforeText, afterText)
	tb.key("k")
	assert.Equal(t, "#F59A2E", tb.fill("cache"))
	assert.Contains(t, tb.text("legend"), "within noise")
	tb.key("k")
	assert.Contains(t, tb.text("legend"), "U user")
}

func testEmptySide(t *testing.T, b *browser) {
	tb := openComparison(t, b, "", afterText)
	assert.Equal(t, "#F0705A", tb.fill("parse"))
	tb.key("w")
	assert.Contains(t, tb.labels(), "parse", "all is gone, and still there to see")
	tb = openComparison(t, b, beforeText, "")
	assert.Equal(t, "#5E9FE6", tb.fill("parse"))
	tb.hover("parse")
	assert.NotContains(t, tb.tip(), "NaN")
	tb.key("e")
	assert.Contains(t, tb.labels(), "parse")
}

func testComparisonReversed(t *testing.T, b *browser) {
	tb := openComparison(t, b, beforeText, afterText)
	tb.key("r")
	tb.hover("parse")
	assert.Contains(t, tb.tip(), "40.00% → 44.98% (+4.98 points)")
	assert.Contains(t, tb.searchFor("main"), "Matched: 100.00% (20,010 samples")
}
