//go:build integration

package svg_test

import (
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter/svg"
)

func stateCases() map[string]func(*testing.T, *browser) {
	return map[string]func(*testing.T, *browser){
		"back and forward":                 testHistory,
		"address restores everything":      testAddress,
		"address for another profile":      testAddressElsewhere,
		"address of a function that moved": testAddressPrefix,
		"address that is not ours":         testForeignAddress,
	}
}

func testHistory(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	first := tb.labels()
	tb.click("nginx")
	tb.click("serve")
	zoomed := tb.labels()
	tb.key(kb.Backspace)
	tb.waitFor(`document.querySelector('[data-ft=hint]').textContent.includes('80.00%%')`)
	tb.run(js(`history.back()`))
	tb.waitFor(`document.querySelector('[data-ft=hint]').textContent.includes('Click a frame')`)
	assert.ElementsMatch(t, first, tb.labels())
	tb.run(js(`history.go(2)`))
	tb.waitFor(`document.querySelector('[data-ft=hint]').textContent.includes('70.00%%')`)
	assert.ElementsMatch(t, zoomed, tb.labels())
}

func testAddress(t *testing.T, b *browser) {
	tb := b.tab(t)
	path := fileOf(t, smallGraph, svg.Options{})
	tb.open(path)
	tb.key("v")
	tb.key("d")
	tb.hover("log")
	tb.key("x")
	tb.click("serve")
	want := tb.searchFor("parse+|query")
	assert.Contains(t, want, "here 42.86%")
	hash := eval[string](tb, `location.hash`)
	labels := tb.labels()
	other := b.tab(t)
	other.open(path + hash)
	other.waitFor(`document.querySelector('[data-ft=matched]').textContent !== ''`)
	assert.Equal(t, want, other.text("matched"))
	assert.Equal(t, labels, other.labels())
	assert.Equal(t, "parse+|query", eval[string](other, `document.querySelector('input').value`))
	assert.Equal(t, "dark", eval[string](other, `document.documentElement.getAttribute('data-theme')`))
	assert.Less(t, other.boxOf("all")[1], other.boxOf("serve")[1])
	assert.Contains(t, other.text("hint"), "without 1 name")
}

func testAddressElsewhere(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.click("query")
	hash := eval[string](tb, `location.hash`)
	other := b.tab(t)
	other.open(fileOf(t, "a;b 900\npostgres;main;analyze 50\npostgres;main;query;join 77\n", svg.Options{}) + hash)
	assert.ElementsMatch(t, []string{"all", "postgres", "main", "query", "join"}, other.labels(), "the same function, elsewhere in the picture")
	assert.Contains(t, other.text("hint"), "77 samples")
}

func testAddressPrefix(t *testing.T, b *browser) {
	tb := b.tab(t)
	tb.open(fileOf(t, smallGraph, svg.Options{}))
	tb.click("query")
	hash := eval[string](tb, `location.hash`)
	other := b.tab(t)
	other.open(fileOf(t, "a;b 900\npostgres;main;analyze 50\n", svg.Options{}) + hash)
	assert.ElementsMatch(t, []string{"all", "postgres", "main", "analyze"}, other.labels(), "as far as the path exists")
}

func testForeignAddress(t *testing.T, b *browser) {
	for _, hash := range []string{"#anything", "#z=%%%&s=%E0%A4%A", "#m=sxyz&x=..&r=9-1&g=7&k=no&d=pink&__proto__=1&constructor=2", "#s=" + "a%2B"} {
		tb := b.tab(t)
		tb.open(fileOf(t, smallGraph, svg.Options{}) + hash)
		assert.Contains(t, tb.labels(), "serve", hash)
	}
}
