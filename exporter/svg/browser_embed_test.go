//go:build integration

package svg_test

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

func embeddingCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"without script":                   testWithoutScript,
		"strict content security policies": testPolicy,
		"policy with scripts only":         testScriptPolicy,
		"in a sandboxed frame":             testSandboxedFrame,
		"in an image element":              testImage,
		"two copies in a page":             testTwoCopies,
		"hostile names run nothing":        testHostile,
		"printed":                          testPrint,
		"damaged graph":                    testDamaged,
	}
}

// shot returns the pixels of a file with or without its script.
func (b *tab) shot(file string, scripts bool) image.Image {
	b.t.Helper()
	policy := ""
	if !scripts {
		policy = "script-src 'none'"
	}
	b.run(chromedp.Navigate(serve(b.t, policy, "image/svg+xml", file)))
	if scripts {
		b.waitFor(ready)
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

// differing is the share of pixels below a height of which a colour differs by more
// than some levels of 256.
func differing(a, b image.Image, top, levels int) float64 {
	n, differ := 0, 0
	for y := top; y < a.Bounds().Max.Y; y++ {
		for x := range a.Bounds().Max.X {
			n++
			r, g, bl, _ := a.At(x, y).RGBA()
			r2, g2, bl2, _ := b.At(x, y).RGBA()
			if max(apart(r, r2), apart(g, g2), apart(bl, bl2)) > levels {
				differ++
			}
		}
	}
	return float64(differ) / float64(n)
}

func apart(a, b uint32) int { return int(max(a, b)-min(a, b)) / 0x101 }

// unseen is by how much the edges of narrow frames differ that are parts of one path
// with the script, and elements without.
const unseen = 8

const framesTop = 140 // below all controls

// shotAsIs loads a page on which scripts do not run anyway.
func (b *tab) shotAsIs(url string) image.Image {
	b.t.Helper()
	b.run(chromedp.Navigate(url))
	return b.pixels()
}

func testWithoutScript(t *testing.T, b *browser) {
	tb := b.tab(t)
	body := render(t, parse(t, smallGraph), svg.Options{})
	with, without := tb.shot(body, true), tb.shot(body, false)
	assert.Less(t, differing(with, without, framesTop, 0), 0.005, "both layers look the same")
	assert.NotContains(t, strings.Split(body, "<script>")[0], "<button", "no control without script")
	assert.NotContains(t, strings.Split(body, "<script>")[0], "foreignObject")
	tb = b.tab(t)
	big := render(t, stackgen.New(3000, 3).Graph(), svg.Options{Layout: svg.Icicle})
	with, without = tb.shot(big, true), tb.shot(big, false)
	assert.Less(t, differing(with, without, framesTop, unseen), 0.005)
}

func testPolicy(t *testing.T, b *browser) {
	body := render(t, parse(t, smallGraph), svg.Options{})
	for _, policy := range []string{"default-src 'none'", "sandbox", "default-src 'self'; style-src 'none'"} {
		tb := b.tab(t)
		plain := tb.shot(body, false)
		strict := b.tab(t)
		got := strict.shotAsIs(serve(t, policy, "image/svg+xml", body))
		assert.Zero(t, differing(plain, got, 0, 0), policy)
	}
}

func testImage(t *testing.T, b *browser) {
	body := render(t, parse(t, smallGraph), svg.Options{})
	src := serve(t, "", "image/svg+xml", body)
	page := serve(t, "", "text/html", `<!DOCTYPE html><body style="margin:0"><img style="display:block" src="`+src+`">`)
	got := b.tab(t).shotAsIs(page)
	want := b.tab(t).shot(body, false)
	assert.Less(t, differing(want, got, 0, 0), 0.005)
}

func testTwoCopies(t *testing.T, b *browser) {
	one := inline(render(t, parse(t, smallGraph), svg.Options{Title: "one"}))
	two := inline(render(t, parse(t, smallGraph), svg.Options{Title: "two"}))
	tb := b.tab(t)
	tb.run(chromedp.Navigate(serve(t, "", "text/html", "<!DOCTYPE html><meta charset=utf-8><body>"+one+two)))
	tb.waitFor(`document.querySelectorAll('svg').length === 2 && document.querySelectorAll('[role=tree]').length === 2`)
	before := eval[string](tb, `document.querySelectorAll('svg')[1].querySelector('[data-ft=frames]').innerHTML`)
	tb.key("/")
	assert.False(t, eval[bool](tb, `document.activeElement?.localName === 'input'`), "a page keeps its keys")
	tb.click("serve") // in the first copy, which then has the focus
	tb.key("/")
	tb.key("parse")
	tb.waitFor(`document.querySelectorAll('[data-ft=matched]')[0].textContent.startsWith('Matched: 30.00%%')`)
	assert.Empty(t, eval[string](tb, `document.querySelectorAll('[data-ft=matched]')[1].textContent`))
	assert.Equal(t, before, eval[string](tb, `document.querySelectorAll('svg')[1].querySelector('[data-ft=frames]').innerHTML`))
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('[id]').length`))
	assert.Empty(t, eval[string](tb, `location.hash`), "nor does a copy touch the address")
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
	tb.waitFor(`document.querySelector('[role=tree]') !== null`)
	tb.click("all")
	use(tb)
}

// testScriptPolicy allows the script and nothing else: no style, no worker.
func testScriptPolicy(t *testing.T, b *browser) {
	tb := b.tab(t)
	body := render(t, parse(t, smallGraph), svg.Options{})
	tb.run(chromedp.Navigate(serve(t, "default-src 'none'; script-src 'unsafe-inline'", "image/svg+xml", body)))
	tb.waitFor(ready)
	tb.click("serve")
	assert.Contains(t, tb.text("hint"), "700 samples (70.00% of all)")
	assert.Contains(t, tb.searchFor("parse"), "Matched: 30.00%")
	assert.Contains(t, tb.searchFor("(pa+)+rse"), "Matched: 0.00%", "without a worker as plain text")
	assert.Contains(t, tb.text("problem"), "searched as plain text")
}

// testSandboxedFrame: scripts run, but there is no origin and so no history.
func testSandboxedFrame(t *testing.T, b *browser) {
	tb := b.tab(t)
	body := render(t, parse(t, smallGraph), svg.Options{})
	src := serve(t, "sandbox allow-scripts", "image/svg+xml", body)
	tb.run(chromedp.Navigate(src))
	tb.waitFor(ready)
	tb.click("serve")
	assert.NotContains(t, tb.labels(), "query")
	assert.Contains(t, tb.searchFor("parse"), "here 42.86%")
}

func testPrint(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.searchFor("parse")
	tb.media("print")
	fills := eval[[]string](tb, `[...new Set(Array.from(document.querySelectorAll('[data-ft=frames] rect')).map(r => getComputedStyle(r).fill))]`)
	assert.Equal(t, []string{"rgb(255, 255, 255)"}, fills, "black on white")
	assert.Equal(t, "none", eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=ui]')).display`))
	assert.Equal(t, "2.5px", eval[string](tb, `getComputedStyle(document.querySelector('rect[fill="#FFE14D"]')).strokeWidth`))
	assert.NotEqual(t, "none", eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=matched]')).display`))
	assert.NotEqual(t, "none", eval[string](tb, `getComputedStyle(document.querySelector('[data-ft=legend]')).display`))
}

func testDamaged(t *testing.T, b *browser) {
	file := render(t, parse(t, smallGraph), svg.Options{})
	at := strings.Index(file, `<metadata data-ft="graph">`) + 60
	tb := b.tab(t)
	tb.run(chromedp.Navigate("file://" + tempFile(t, "p.svg", file[:at]+"AAAA"+file[at+4:])))
	tb.waitFor(`document.querySelectorAll('[data-ft=frames] rect').length > 5`)
	assert.Zero(t, eval[int](tb, `document.querySelectorAll('button').length`), "the picture stays as it is")
}
