//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/chromedp"
)

// steps measure a page from an event to the second frame of the screen after it,
// which is when the reader sees the answer. Each is a JavaScript expression of
// type array of milliseconds.
type steps struct {
	name  string
	ready string
	steps []step
}

type step struct{ name, expression string }

// after is a function that runs something and waits until it was drawn.
const after = `async f => { const t = performance.now(); f();
	await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))); return performance.now() - t; }`

// each measures something for several frames, the widest first, the root excepted.
func each(rects, body string) string {
	return `(async () => { const after = ` + after + `, out = [];
	for (let k = 0; k < 8; k++) {
		const list = ` + rects + `;
		list.sort((a, b) => b.getBoundingClientRect().width - a.getBoundingClientRect().width);
		const target = list[Math.min(list.length - 1, 2 + k * 3)];
		const r = target.getBoundingClientRect(), at = { bubbles: true, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2 };
		` + body + `
	}
	return out; })()`
}

func ours() steps {
	const rects = `[...document.querySelectorAll('[data-ft=frames] rect')]`
	const click = `target.dispatchEvent(new MouseEvent('click', at))`
	const key = `window.dispatchEvent(new KeyboardEvent('keypress', { key: '%s' }))`
	search := `(async () => { const input = document.querySelector('input'), result = document.querySelector('[data-ft=matched]'), out = [];
	for (const text of ['poll', 'read|write', '^std::', 'ctx', 'lock$', 'e']) {
		const t = performance.now();
		input.value = text; result.textContent = '';
		input.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
		while (!result.textContent) await new Promise(r => setTimeout(r));
		await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
		out.push(performance.now() - t);
	}
	window.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
	return out; })()`
	return steps{"flametel", `document.querySelector('[role=tree]') !== null`, []step{
		{"zoom", each(rects, `out.push(await after(() => `+click+`)); window.dispatchEvent(new KeyboardEvent('keypress', { key: '0' }));`)},
		{"unzoom", each(rects, click+`; out.push(await after(() => `+fmt.Sprintf(key, "0")+`));`)},
		{"hover", each(rects, `out.push((() => { const t = performance.now(); target.dispatchEvent(new PointerEvent('pointermove', at)); return performance.now() - t; })());`)},
		{"search", search},
		{"bottom-up", each(rects, `out.push(await after(() => `+fmt.Sprintf(key, "r")+`));`)},
	}}
}

func d3() steps {
	const rects = `[...document.querySelectorAll('g.frame rect')]`
	return steps{"d3-flame-graph", `document.querySelectorAll('g.frame').length > 3`, []step{
		{"zoom", each(rects, `out.push(await after(() => target.parentNode.dispatchEvent(new MouseEvent('click', { bubbles: true })))); chart.resetZoom();`)},
		{"unzoom", each(rects, `target.parentNode.dispatchEvent(new MouseEvent('click', { bubbles: true })); out.push(await after(() => chart.resetZoom()));`)},
		{"search", `(async () => { const after = ` + after + `, out = [];
			for (const text of ['poll', 'read|write', '^std::', 'ctx', 'lock$', 'e']) out.push(await after(() => chart.search(text))); return out; })()`},
	}}
}

func browse(ctx context.Context, dir string, sizes []string, files, peers map[string]string) error {
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1400, 900))
	alloc, stop := chromedp.NewExecAllocator(ctx, opts...)
	defer stop()
	browser, stop := chromedp.NewContext(alloc)
	defer stop()
	if err := chromedp.Do(browser); err != nil {
		return fmt.Errorf("start Chromium; Debian's package is chromium: %w", err)
	}
	fmt.Println("\nMilliseconds in Chromium: median and p95, from the event to the second screen after it.\n\n" +
		"| page | stacks | ready | elements | heap MB | zoom | unzoom | hover | search | bottom-up |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, size := range sizes {
		n, err := strconv.Atoi(size)
		if err != nil {
			return err
		}
		if n > 100_000 {
			continue
		}
		if err := measurePage(browser, ours(), size, files[size]); err != nil {
			return err
		}
		if err := measurePage(browser, perl(), size, peers[size]); err != nil {
			fmt.Fprintln(os.Stderr, "benchsvg:", err)
		}
		if n > 10_000 {
			continue // d3-flame-graph does not come up in minutes
		}
		page := filepath.Join(dir, size+".html")
		if err := writeD3(page, n); err != nil {
			fmt.Fprintln(os.Stderr, "benchsvg: without d3-flame-graph:", err)
			continue
		}
		if err := measurePage(browser, d3(), size, page); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a page is measured.
const patience = 3 * time.Minute

func measurePage(browser context.Context, s steps, size, path string) error {
	tab, stop := chromedp.NewContext(browser)
	defer stop()
	tab, stopTimer := context.WithTimeout(tab, patience)
	defer stopTimer()
	if err := forgetDOM(tab); err != nil {
		return err
	}
	start := time.Now()
	if err := chromedp.Do(tab, chromedp.Navigate("file://"+path)); err != nil {
		return err
	}
	for {
		ok, err := chromedp.Run(tab, chromedp.Evaluate[bool](s.ready))
		if err != nil {
			return err
		}
		if ok {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	ready := time.Since(start)
	facts, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](`[document.querySelectorAll('*').length, performance.memory.usedJSHeapSize / 1e6]`))
	if err != nil {
		return err
	}
	row := fmt.Sprintf("| %s | %s | %d | %.0f | %.0f |", s.name, size, ready.Milliseconds(), facts[0], facts[1])
	for _, name := range []string{"zoom", "unzoom", "hover", "search", "bottom-up"} {
		i := slices.IndexFunc(s.steps, func(s step) bool { return s.name == name })
		if i < 0 {
			row += " - |"
			continue
		}
		times, err := chromedp.Run(tab, chromedp.Evaluate[[]float64](s.steps[i].expression, chromedp.EvalAwaitPromise))
		if tab.Err() != nil {
			row += " too long |"
			break
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "benchsvg: %s, %s: %v\n", s.name, name, err)
			row += " fails |"
			continue
		}
		slices.Sort(times)
		row += fmt.Sprintf(" %.0f / %.0f |", times[len(times)/2], times[(len(times)*95-1)/100])
	}
	fmt.Println(row)
	return nil
}

// forgetDOM stops reports of changed elements. They cost time in the page, and
// with more than 4,096 of them on their way the driver can wait for ever.
func forgetDOM(tab context.Context) error {
	if _, err := chromedp.Call(tab, css.Disable, cdp.Empty{}); err != nil { // it builds on the other
		return err
	}
	_, err := chromedp.Call(tab, dom.Disable, cdp.Empty{})
	return err
}

// d3Node is the format of d3-flame-graph.
type d3Node struct {
	Name     string    `json:"name"`
	Value    int64     `json:"value"`
	Children []*d3Node `json:"children,omitempty"`
}

// writeD3 writes a page of d3-flame-graph with the same stacks.
func writeD3(path string, n int) error {
	const modules = ".tools/npm/node_modules/"
	var scripts strings.Builder
	for _, name := range strings.Fields("dispatch timer ease color interpolate array format time time-format hierarchy scale selection transition flame-graph") {
		file := modules + "d3-" + name + "/dist/d3-" + name + ".min.js"
		if name == "flame-graph" {
			file = modules + "d3-flame-graph/dist/d3-flamegraph.umd.min.js"
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&scripts, "<script>%s</script>\n", source)
	}
	g := graph(n)
	totals := g.Totals(0)
	nodes := make([]*d3Node, len(g.Nodes))
	for i := range g.Nodes {
		nodes[i] = &d3Node{Name: "all", Value: totals[i]}
		if i > 0 {
			nodes[i].Name = g.Frames[g.Nodes[i].Frame].Name
			p := nodes[g.Nodes[i].Parent]
			p.Children = append(p.Children, nodes[i])
		}
	}
	data, err := json.Marshal(nodes[0])
	if err != nil {
		return err
	}
	page := "<!DOCTYPE html><meta charset=utf-8><body><div id=chart></div>\n" + scripts.String() +
		"<script>const data = " + string(data) + ";\nconst make = typeof flamegraph === 'function' ? flamegraph : flamegraph.flamegraph || flamegraph.default;\n" +
		"const chart = make().width(1368).minFrameSize(1).transitionDuration(0);\nd3.select('#chart').datum(data).call(chart);</script>"
	return os.WriteFile(path, []byte(page), 0o600)
}
