//go:build integration

package svg_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func accessCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"arrows, Enter, Escape":     testArrows,
		"tree for screen readers":   testTree,
		"result is announced":       testAnnounced,
		"accessibility checker":     testAxe,
		"forced colours":            testForcedColors,
		"reduced motion":            testReducedMotion,
		"keys of fields stay there": testFieldKeys,
	}
}

// focused is the label for screen readers of the element with the focus.
func (b *tab) focused() string {
	b.t.Helper()
	return eval[string](b, `document.activeElement?.getAttribute('aria-label') || ''`)
}

func testArrows(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key(kb.ArrowUp)
	assert.Contains(t, tb.focused(), "all,")
	for _, step := range []struct{ key, want string }{
		{kb.ArrowUp, "nginx,"}, {kb.ArrowUp, "main,"}, {kb.ArrowUp, "serve,"}, {kb.ArrowUp, "read,"},
		{kb.ArrowLeft, "parse,"}, {kb.ArrowRight, "read,"}, {kb.ArrowDown, "serve,"}, {kb.ArrowLeft, "log,"},
	} {
		tb.key(step.key)
		assert.Contains(t, tb.focused(), step.want)
	}
	assert.Contains(t, tb.tip(), "log", "what has the focus is explained")
	tb.key(kb.ArrowRight)
	tb.key(kb.Enter)
	assert.Contains(t, tb.text("hint"), "700 samples (70.00% of all)")
	assert.Contains(t, tb.focused(), "serve,", "keeps the focus when it is drawn anew")
	tb.key("\x1b")
	assert.Contains(t, tb.labels(), "postgres")
	tb.key("v")
	tb.key(kb.ArrowDown)
	assert.Contains(t, tb.focused(), "read,", "down the page, whatever the layout")
}

func testTree(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.hover("parse")
	tb.key(kb.ArrowDown)
	type item struct {
		Label    string
		Level    string
		Selected string
		Index    int
	}
	items := eval[[]item](tb, `Array.from(document.querySelectorAll('[role=tree] [role=treeitem]')).map(e => ({
		Label: e.getAttribute('aria-label'), Level: e.getAttribute('aria-level'), Selected: e.getAttribute('aria-selected'), Index: e.tabIndex }))`)
	require.Len(t, items, 4, "the path to the focus")
	levels := map[string]item{}
	for _, i := range items {
		levels[i.Level] = i
	}
	assert.Equal(t, "all", levels["1"].Label)
	assert.Equal(t, "nginx", levels["2"].Label)
	assert.Equal(t, "true", levels["4"].Selected)
	assert.Zero(t, levels["4"].Index)
	assert.Contains(t, levels["4"].Label, "serve, U user, 700 samples (70.00%) of all, self 0 samples (0.00%)")
}

func testAnnounced(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	assert.Equal(t, "status", eval[string](tb, `document.querySelector('[data-ft=matched]').getAttribute('role')`))
	assert.Equal(t, "status", eval[string](tb, `document.querySelector('[data-ft=problem]').getAttribute('role')`))
	assert.NotEmpty(t, eval[string](tb, `document.querySelector('input').getAttribute('aria-label')`))
	assert.Empty(t, eval[[]string](tb, `Array.from(document.querySelectorAll('button')).filter(b => !b.textContent && !b.title).map(b => b.outerHTML)`))
}

// axe returns the source of the accessibility checker, which the set-up of the
// tests installs.
func axe(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	path := filepath.Join(string(root[:len(root)-1]), ".tools", "npm", "node_modules", "axe-core", "axe.min.js")
	source, err := os.ReadFile(path)
	require.NoError(t, err, "make setup-test installs axe-core from npm")
	return string(source)
}

func testAxe(t *testing.T, b *browser) {
	source := axe(t)
	files := map[string]string{
		"one profile": render(t, stackgen.New(300, 1).Graph(), svg.Options{}),
		"few samples": render(t, parse(t, "app;main;a 3\n"), svg.Options{}),
	}
	check := func(t *testing.T, tb *tab, what string) {
		t.Helper()
		tb.run(js(source))
		type violation struct {
			ID    string
			Nodes []struct{ HTML, FailureSummary string }
		}
		data, err := chromedp.Run(tb.ctx, chromedp.Evaluate[string](
			`axe.run(document, { resultTypes: ['violations'] }).then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise))
		require.NoError(t, err)
		var list []violation
		require.NoError(t, json.Unmarshal([]byte(data), &list))
		for _, v := range list {
			t.Errorf("%s: %s: %+v", what, v.ID, v.Nodes[:min(3, len(v.Nodes))])
		}
	}
	for name, file := range files {
		page := "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>t</title><body><main><h1>Report</h1>" + inline(file) + "</main>"
		for _, theme := range []string{"light", "dark"} {
			tb := b.tab(t)
			tb.media("", "prefers-color-scheme", theme)
			tb.run(chromedp.Navigate(serve(t, "", "text/html", page)))
			tb.waitFor(ready)
			check(t, tb, name+", "+theme)
			tb.run(js(`document.querySelector('svg').focus()`))
			for _, key := range []string{"?", "t", "i"} {
				tb.key(key)
				tb.waitFor(`document.querySelector('.panel') !== null`)
				check(t, tb, name+", "+theme+", panel "+key)
			}
			tb.key("\x1b")
			tb.searchFor("a(")
			check(t, tb, name+", "+theme+", search")
		}
	}
}

func testForcedColors(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.media("", "forced-colors", "active")
	fill := eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=frames] rect')).fill`)
	assert.Equal(t, eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=page]')).fill`), fill, "the page's colour")
	assert.NotEqual(t, "none", eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=frames] rect')).stroke`), "and an outline")
	assert.NotEqual(t, fill, eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=frames] text')).fill`))
	tb.searchFor("parse")
	assert.Equal(t, "3px", eval[string](tb, `getComputedStyle(document.querySelector('rect[fill="#FFE14D"]')).strokeWidth`))
}

func testReducedMotion(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.media("", "prefers-reduced-motion", "reduce")
	tb.click("serve")
	assert.Zero(t, eval[int](tb, `document.getAnimations().length`), "nothing moves, with or without the preference")
	assert.NotContains(t, render(t, parse(t, smallGraph), svg.Options{}), "<animate")
}

func testFieldKeys(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("/")
	for _, key := range []string{"r", "v", "x", "?", "0"} {
		tb.key(key)
	}
	assert.Equal(t, "rvx?0", eval[string](tb, `document.querySelector('input').value`))
	assert.Greater(t, tb.boxOf("all")[1], tb.boxOf("serve")[1])
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('.panel').length`))
}
