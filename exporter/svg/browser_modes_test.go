//go:build integration

package svg_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/svg"
)

func modeCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"upside down":                  testInvert,
		"bottom-up":                    testReverse,
		"bottom-up of recursion":       testReverseRecursion,
		"sandwich":                     testSandwich,
		"sandwich with many callers":   testDeepSandwich,
		"menu without a frame":         testNothingFocused,
		"exclude and take back":        testExclude,
		"collapse recursion":           testRecursion,
		"recursion and the focus":      testRecursionFocus,
		"bottom-up by weight":          testReverseOrder,
		"merge threads and processes":  testGroup,
		"colour by module":             testColorModule,
		"colour by self share":         testColorHeat,
		"dark, light, as the system":   testDark,
		"unseen characters are shown":  testHiddenCharacters,
		"all keys of the list do work": testEveryKey,
	}
}

// boxOf returns left edge, top and width of the frame with a label.
func (b *tab) boxOf(label string) []float64 {
	b.t.Helper()
	return eval[[]float64](b, `(() => {
		const text = Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === %q);
		return ['x', 'y', 'width'].map(name => +text.previousElementSibling.getAttribute(name));
	})()`, label)
}

func testInvert(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	assert.Greater(t, tb.boxOf("all")[1], tb.boxOf("serve")[1])
	tb.key("v")
	assert.Less(t, tb.boxOf("all")[1], tb.boxOf("serve")[1])
	tb.key("v")
	assert.Greater(t, tb.boxOf("all")[1], tb.boxOf("serve")[1])
}

func testReverse(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;main;a;lock 300\napp;main;b;lock 100\napp;main;b 600\n", svg.Options{}))
	tb.key("r")
	assert.Contains(t, tb.text("hint"), "bottom-up")
	all, lock := tb.boxOf("all"), tb.boxOf("lock")
	assert.InDelta(t, 0.4*all[2], lock[2], 1, "both ends in one")
	tb.hover("lock")
	assert.Contains(t, tb.tip(), "400 samples (40.00%) of all")
	tb.click("lock")
	assert.ElementsMatch(t, []string{"all", "lock", "a", "b", "main", "main", "app", "app"}, tb.labels())
	assert.InDelta(t, 0.75*all[2], tb.boxOf("a")[2], 1)
	tb.key("r")
	assert.ElementsMatch(t, []string{"all", "app", "main", "a", "b", "lock", "lock"}, tb.labels())
}

// testReverseOrder has ends of which thousands of narrow ones stand between wide ones
// in the order of names.
func testReverseOrder(t *testing.T, b *browser) {
	var text strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&text, "app;main;f%04d %d\n", i, 1+(i+1)%1000/999*(1000+i))
	}
	tb := b.tab(t)
	tb.open(fileOf(t, text.String(), svg.Options{}))
	tb.key("r")
	ends := func() []string {
		var list []string
		for _, label := range tb.labels() {
			if strings.HasPrefix(label, "f") {
				list = append(list, label)
			}
		}
		return list
	}
	want := []string{"f3998", "f2998", "f1998", "f0998"}
	assert.Equal(t, want, ends(), "the heaviest first")
	assert.Equal(t, 1, tb.drawn(`[fill="#F1F3F5"]`), "and one bar for the rest")
	tb.click("f1998")
	tb.run(chromedp.Reload())
	tb.waitFor(ready)
	assert.Contains(t, tb.text("hint"), "f1998")
	tb.key("\x1b")
	assert.Equal(t, want, ends())
	tb.key("r")
	assert.Equal(t, []string{"f0998", "f1998", "f2998", "f3998"}, ends(), "by name otherwise")
}

// testRecursionFocus collapses a function that has the focus.
func testRecursionFocus(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;main;f;f;f;leaf 10\n", svg.Options{Layout: svg.Icicle}))
	for range 4 {
		tb.key(kb.ArrowDown)
	}
	assert.Contains(t, tb.focused(), "f,")
	tb.key("R")
	assert.Contains(t, tb.focused(), "f,", "the focus stays")
	assert.Contains(t, tb.tip(), "f\n")
	tb.key("s")
	assert.Empty(t, tb.tip(), "no tooltip of what nobody asked for")
	tb.key("\x1b")
	tb.key("R")
}

func testReverseRecursion(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "lib;f;f;f 10\napp;f 30\n", svg.Options{}))
	tb.key("r")
	all := tb.boxOf("all")
	assert.InDelta(t, all[2], tb.boxOf("f")[2], 1, "self is counted once")
	tb.click("f")
	tb.hover("app")
	assert.Contains(t, tb.tip(), "30 samples (75.00%) of all")
}

func testSandwich(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;main;a;lock;wait 300\napp;main;b;lock;spin 100\napp;main;b 600\n", svg.Options{Layout: svg.Icicle}))
	tb.hover("lock")
	tb.key("s")
	tb.waitFor(`document.querySelector('[data-ft=hint]').textContent === 'lock40.00%% of all, self 0.00%%: callers above, callees below (Esc goes back)'`)
	assert.Equal(t, "lock", eval[string](tb, `document.querySelector('[data-subject]').nextElementSibling.textContent`), "it is marked")
	assert.ElementsMatch(t, []string{"lock", "wait 75.00%", "spin 25.00%", "a 75.00%", "b 25.00%", "main", "main", "app", "app"}, tb.labels(),
		"shares beside direct callers and callees")
	lock := tb.boxOf("lock")
	assert.Less(t, tb.boxOf("a 75.00%")[1], lock[1], "callers above")
	assert.Greater(t, tb.boxOf("wait 75.00%")[1], lock[1], "callees below")
	assert.InDelta(t, 0.75*lock[2], tb.boxOf("wait 75.00%")[2], 1)
	assert.InDelta(t, 0.75*lock[2], tb.boxOf("a 75.00%")[2], 1)
	tb.key("v")
	assert.Greater(t, tb.boxOf("a 75.00%")[1], tb.boxOf("lock")[1], "turned round with the rest")
	tb.click("a 75.00%")
	assert.NotContains(t, tb.labels(), "b 25.00%")
	assert.Contains(t, tb.labels(), "spin 25.00%", "the other half stays")
	assert.Equal(t, "lock›a300 samples (30.00% of all) · Esc resets the zoom · lock 40.00% of all, self 0.00%: callees above, callers below", tb.text("hint"))
	tb.key("\x1b")
	assert.Contains(t, tb.labels(), "b 25.00%", "first the zoom")
	assert.Contains(t, tb.text("hint"), "(Esc goes back)")
	tb.key("\x1b")
	assert.Contains(t, tb.labels(), "all")
}

// testDeepSandwich asks for a function whose callers fill several windows.
func testDeepSandwich(t *testing.T, b *browser) {
	for _, layout := range []svg.Layout{svg.Flame, svg.Icicle} {
		tb := b.tab(t)
		tb.open(fileOf(t, "app;x;"+strings.Repeat("deeper;", 300)+"fault;handle 10\napp;y 87\napp;fault 3\n", svg.Options{Layout: layout}))
		tb.click("app")
		tb.click("x")
		zoom := tb.text("hint")
		tb.key("t")
		tb.clickControl("fault")
		seen := `(() => {
			const { top, bottom } = document.querySelector('[data-subject]').getBoundingClientRect();
			return top > 0 && bottom < innerHeight;
		})()`
		tb.waitFor("%s", seen)
		assert.Contains(t, tb.text("hint"), "13.00% of all, self 3.00%")
		tb.click("handle 76.92%")
		assert.Contains(t, tb.text("hint"), "Esc resets the zoom")
		tb.waitFor("%s", seen)
		tb.key("v")
		tb.waitFor("%s", seen)
		tb.key("\x1b")
		tb.key("\x1b")
		assert.Equal(t, zoom, tb.text("hint"), "back to what was zoomed to")
	}
}

// testNothingFocused asks for what is about a frame before there is one.
func testNothingFocused(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	for _, key := range svg.Keys() {
		if !key.OnFrame {
			continue
		}
		tb.run(js(`document.querySelector('[data-ft=problem]').textContent = ''`))
		tb.clickControl("Menu")
		tb.clickControl(key.Text)
		assert.Contains(t, tb.text("problem"), "Point at a frame", key.Text)
	}
}

func testExclude(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.hover("serve")
	tb.key("x")
	tb.waitFor(`!Array.from(document.querySelectorAll('[data-ft=frames] text')).some(t => t.textContent === 'serve')`)
	assert.Contains(t, tb.text("hint"), "without 1 name (70.00%)")
	tb.hover("query")
	assert.Contains(t, tb.tip(), "190 samples (63.33%) of all", "shares are of the rest")
	assert.Contains(t, tb.searchFor("log|sort"), "Matched: 83.33% (250 samples")
	tb.key("\x1b")
	tb.key("X")
	assert.Contains(t, tb.labels(), "serve")
}

func testRecursion(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, "app;walk;walk;walk;visit 30\napp;walk;walk;visit 20\napp;walk;leaf 50\n", svg.Options{}))
	tb.key("R")
	assert.ElementsMatch(t, []string{"all", "app", "walk", "visit", "leaf"}, tb.labels())
	tb.hover("visit")
	assert.Contains(t, tb.tip(), "50 samples (50.00%) of all")
	assert.Contains(t, tb.text("hint"), "recursion collapsed")
	tb.key("R")
	assert.Greater(t, strings.Count(strings.Join(tb.labels(), " "), "walk"), 1)
}

func testGroup(t *testing.T, b *browser) {
	stack := func(process, thread, name string) []callgraph.Frame {
		return []callgraph.Frame{
			{Name: process, Kind: callgraph.Process}, {Name: thread, Kind: callgraph.Thread}, {Name: name, Kind: callgraph.User},
		}
	}
	tb := b.tab(t)
	g := graphOf(stack("one", "t1", "work"), stack("one", "t2", "work"), stack("two", "t1", "work"))
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{})))
	assert.ElementsMatch(t, []string{"all", "one", "two", "t1", "t2", "t1", "work", "work", "work"}, tb.labels())
	tb.key("g")
	assert.ElementsMatch(t, []string{"all", "one", "two", "work", "work"}, tb.labels())
	tb.key("g")
	assert.ElementsMatch(t, []string{"all", "work"}, tb.labels())
	tb.hover("work")
	assert.Contains(t, tb.tip(), "6 samples (100.00%) of all, self 6 samples (100.00%)")
	tb.key("g")
	assert.Contains(t, tb.labels(), "t2")
}

func (b *tab) fill(label string) string {
	b.t.Helper()
	return eval[string](b, `Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === %q).previousElementSibling.getAttribute('fill')`, label)
}

func testColorModule(t *testing.T, b *browser) {
	f := func(name, module string) callgraph.Frame {
		return callgraph.Frame{Name: name, Kind: callgraph.User, Module: module}
	}
	tb := b.tab(t)
	main := f("main", "/usr/bin/app")
	g := graphOf([]callgraph.Frame{main, f("malloc", "/lib/libc.so.6")}, []callgraph.Frame{main, f("free", "/lib/libc.so.6")}, []callgraph.Frame{main, f("tls", "/lib/libssl.so")})
	tb.open(tempFile(t, "p.svg", render(t, g, svg.Options{})))
	tb.key("k")
	assert.Equal(t, tb.fill("malloc"), tb.fill("free"))
	assert.NotEqual(t, tb.fill("malloc"), tb.fill("tls"))
	assert.Contains(t, tb.text("legend"), "libc.so.6 50.00%", "the share of each library")
	tb.key("k")
	tb.key("k")
	assert.Contains(t, tb.text("legend"), "U user", "round again")
}

func testColorHeat(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.key("k")
	tb.key("k")
	assert.Equal(t, "#F0643C", tb.fill("read"))
	assert.Equal(t, "#EEF0F2", tb.fill("serve"))
	assert.Contains(t, tb.text("legend"), "self 10% and more")
}

func testDark(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	page := `getComputedStyle(document.querySelector('[data-ft=page]')).fill`
	const light, dark = "rgb(255, 255, 255)", "rgb(20, 24, 29)"
	assert.Equal(t, light, eval[string](tb, "%s", page))
	tb.key("d")
	assert.Equal(t, dark, eval[string](tb, "%s", page))
	assert.Equal(t, "rgb(230, 237, 243)", eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=head] text')).fill`))
	tb.key("d")
	tb.media("", "prefers-color-scheme", "dark")
	assert.Equal(t, light, eval[string](tb, "%s", page), "chosen, whatever the system says")
	tb.key("d")
	assert.Equal(t, dark, eval[string](tb, "%s", page))
}

func testHiddenCharacters(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(tempFile(t, "p.svg", render(t, graphOf([]callgraph.Frame{{Name: "\u202egnp.exe\x1b", Kind: callgraph.User}}), svg.Options{})))
	assert.Contains(t, tb.labels(), `\u202egnp.exe\x1b`)
	assert.Contains(t, tb.searchFor(`x1b`), "100.00%")
}

// testEveryKey presses each key of the list on a focused frame. None may throw,
// and each has to change what it says it changes: the cases above look closer.
func testEveryKey(t *testing.T, b *browser) {
	named := map[string]string{
		"F3": kb.F3, "Escape": kb.Escape, "Backspace": kb.Backspace, "Enter": kb.Enter,
		"ArrowUp": kb.ArrowUp, "ArrowDown": kb.ArrowDown, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight,
	}
	for _, key := range svg.Keys() {
		for name := range strings.SplitSeq(key.Keys, " ") {
			tb := b.tab(t)
			tb.open(fileOf(t, smallGraph, svg.Options{}))
			tb.hover("parse")
			switch {
			case strings.HasPrefix(name, "C-"):
				tb.run(chromedp.KeyEvent(name[2:], chromedp.KeyModifiers(2)))
			case named[name] != "":
				tb.key(named[name])
			default:
				tb.key(name)
			}
			assert.Equal(t, 2, eval[int](tb, `1 + 1`), key.Action)
		}
	}
}
