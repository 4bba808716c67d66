//go:build integration

package svg_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/svg"
)

func panelCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"help has all keys":        testHelp,
		"menu of a frame":          testMenu,
		"table of functions":       testTable,
		"table of modules":         testModuleTable,
		"table of what has none":   testNoModule,
		"table of the zoom":        testTableZoomed,
		"table follows the search": testTableSearch,
		"about this recording":     testInfo,
		"copy name and stack":      testCopy,
	}
}

// rows returns the cells of the open table.
func (b *tab) rows() [][]string {
	b.t.Helper()
	return eval[[][]string](b, `Array.from(document.querySelectorAll('.panel tbody tr')).map(r => Array.from(r.cells).map(c => c.textContent))`)
}

func testHelp(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("?")
	help := map[string]string{}
	for _, row := range tb.rows() {
		help[row[1]] = row[0]
	}
	for _, key := range svg.Keys() {
		if strings.HasPrefix(key.Text, "comparison") {
			assert.NotContains(t, help, key.Text, "there is one profile")
			continue
		}
		assert.Equal(t, strings.NewReplacer("C-", "Ctrl-", "Arrow", "").Replace(key.Keys), help[key.Text])
	}
	tb.clickControl("turn upside down: flame or icicle")
	assert.Less(t, tb.boxOf("all")[1], tb.boxOf("serve")[1], "what is listed can be clicked")
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('.panel').length`))
	tb.key("?")
	tb.key("\x1b")
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('.panel').length`))
}

func testMenu(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	x, y := tb.center("parse")
	tb.run(chromedp.MouseClickXY(x, y, chromedp.ButtonRight))
	tb.waitFor(`document.querySelector('.panel h2').textContent === 'parse'`)
	n := 0
	for _, key := range svg.Keys() {
		if key.OnFrame {
			n++
		}
	}
	assert.Len(t, tb.rows(), n)
	tb.clickControl("leave out all stacks through the function, process or thread")
	assert.Contains(t, tb.text("hint"), "without 1 name (30.00%)")
}

func testTable(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;main;walk;walk;leaf 30\napp;main;walk;leaf 20\napp;main;hot 50\n", svg.Options{}))
	tb.key("t")
	assert.Equal(t, [][]string{
		{"leaf", "50.00%  50 samples", "50.00%  50 samples"},
		{"hot", "50.00%  50 samples", "50.00%  50 samples"},
		{"app", "0.00%  0 samples", "100.00%  100 samples"},
		{"main", "0.00%  0 samples", "100.00%  100 samples"},
		{"walk", "0.00%  0 samples", "50.00%  50 samples"},
	}[0:2], sorted(tb.rows()[:2]), "recursion counts once")
	tb.clickControl("Total")
	assert.Contains(t, tb.rows()[0][2], "100.00%")
	tb.clickControl("leaf")
	assert.Contains(t, tb.text("hint"), "50.00% of all, self 50.00%", "callers and callees of a row")
}

func sorted(rows [][]string) [][]string {
	if rows[0][0] < rows[1][0] {
		rows[0], rows[1] = rows[1], rows[0]
	}
	return rows
}

func testModuleTable(t *testing.T, b *browser) {
	lib := callgraph.Frame{Name: "malloc", Kind: callgraph.User, Module: "/usr/lib/libc.so.6"}
	app := callgraph.Frame{Name: "main", Kind: callgraph.User, Module: "/usr/bin/app"}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, graphOf([]callgraph.Frame{app}, []callgraph.Frame{app, lib}, []callgraph.Frame{app, lib, app}), svg.Options{})))
	tb.clickControl("Functions")
	tb.clickControl("Modules")
	assert.Equal(t, [][]string{
		{"/usr/bin/app", "66.67%  4 samples", "100.00%  6 samples"},
		{"/usr/lib/libc.so.6", "33.33%  2 samples", "83.33%  5 samples"},
	}, tb.rows())
	tb.clickControl("/usr/lib/libc.so.6")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 83.33%%')`)
}

func testNoModule(t *testing.T, b *browser) {
	p, k := callgraph.Frame{Name: "app", Kind: callgraph.Process}, callgraph.Frame{Name: "read", Kind: callgraph.Kernel}
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, graphOf([]callgraph.Frame{p, k}, []callgraph.Frame{p, {Name: "f", Kind: callgraph.User, Module: "/bin/app"}}), svg.Options{})))
	tb.key("t")
	tb.key("t")
	assert.Equal(t, [][]string{
		{"/bin/app", "66.67%  2 samples", "66.67%  2 samples"}, {"K kernel", "33.33%  1 sample", "33.33%  1 sample"},
	}, tb.rows(), "a process is no module")
	tb.clickControl("K kernel")
	tb.waitFor(`document.querySelector('[data-ft=matched]').textContent.startsWith('Matched: 33.33%% (1 sample, 1 function), self 33.33%%')`)
}

func testTableZoomed(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	heading := `document.querySelector('.panel h2').textContent`
	tb.click("serve")
	tb.clickControl("Functions")
	assert.Equal(t, "Functions within serve, 700 samples", eval[string](tb, "%s", heading))
	assert.Equal(t, [][]string{
		{"read", "57.14% (40.00% of all)  400 samples", "57.14% (40.00% of all)  400 samples"},
		{"parse", "42.86% (30.00% of all)  300 samples", "42.86% (30.00% of all)  300 samples"},
		{"serve", "0.00% (0.00% of all)  0 samples", "100.00% (70.00% of all)  700 samples"},
	}, tb.rows(), "not its callers, nor what is beside it")
	tb.key(kb.Escape)
	tb.key(kb.Escape)
	tb.key("t")
	assert.Equal(t, "Functions", eval[string](tb, "%s", heading))
	assert.Contains(t, tb.rows()[2], "15.00%  150 samples")
	tb.key(kb.Escape)

	tb.key("r")
	tb.click("read")
	tb.key("t")
	assert.Equal(t, "Functions within read, 400 samples", eval[string](tb, "%s", heading))
	rows := tb.rows()
	assert.Equal(t, []string{"read", "100.00% (40.00% of all)  400 samples", "100.00% (40.00% of all)  400 samples"}, rows[0])
	assert.Equal(t, "0.00% (0.00% of all)  0 samples", rows[1][1], "its callers")
	assert.Len(t, rows, 3)
	tb.clickControl("Modules")
	assert.Contains(t, eval[string](tb, "%s", heading), "Modules within read, 400 samples")
}

func testTableSearch(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.searchFor("read|sort")
	tb.run(js(`document.activeElement?.blur()`))
	tb.key("t")
	rows := tb.rows()
	assert.Len(t, rows, 2)
	assert.Equal(t, "read", rows[0][0])
}

func testInfo(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, sample(), svg.Options{Facts: []svg.Fact{{Name: "command", Value: "flametel record -d 30"}}})))
	tb.key("i")
	text := eval[string](tb, `document.querySelector('.panel pre').textContent`)
	for _, want := range []string{
		"host-a", "30s", "99 Hz asked, 98.7 Hz achieved", "Taken 102000 = kept 101039", "100 lost: counts_full",
		"3 stacks truncated", "16 never taken", "of all frames unknown", "command flametel record -d 30",
	} {
		assert.Contains(t, text, want)
	}
}

func testCopy(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	// What a page without the permission does: the copied text is caught.
	tb.run(js(`(() => {
		window.copied = [];
		Object.defineProperty(navigator, 'clipboard', { value: { writeText: async text => { window.copied.push(text); } } });
	})()`))
	tb.hover("parse")
	tb.key("c")
	tb.key("C")
	tb.waitFor(`window.copied.length === 2`)
	copied := eval[[]string](tb, `window.copied`)
	assert.Equal(t, "parse", copied[0])
	assert.Equal(t, "nginx;main;serve;parse 300", strings.Split(copied[1], "\n")[0])
	assert.Contains(t, copied[1], "300 samples (30.00%) of all, self 300 samples (30.00%)")
	assert.Contains(t, tb.text("problem"), "Copied: nginx;main;serve;parse 300")
	tb.key(kb.Escape)
}
