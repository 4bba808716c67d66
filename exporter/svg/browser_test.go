//go:build integration

package svg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	testbrowser "github.com/flametel/flametel/exporter/internal/browser"
)

// browser is one headless Chromium for all cases of a test.
type browser struct {
	ctx context.Context
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{testbrowser.Start(t, chromedp.WindowSize(1200, 900))}
}

// tab is a page that fails the test on an exception in script.
type tab struct {
	t   *testing.T
	ctx context.Context
}

func (b *browser) tab(t *testing.T) *tab {
	t.Helper()
	ctx, stop := chromedp.NewContext(b.ctx)
	ctx, stopTimer := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(func() { stopTimer(); stop() })
	require.NoError(t, chromedp.Do(ctx))
	forgetDOM(t, ctx)
	require.NoError(t, chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*runtime.EventExceptionThrown); ok {
			t.Errorf("exception in script: %+v", e.ExceptionDetails)
		}
	}))
	tb := &tab{t, ctx}
	tb.run(chromedp.EmulateViewport(1200, 900))
	return tb
}

// forgetDOM stops reports of changed elements. The driver asks for the document
// after each load, and if more than 4,096 reports arrive before the answer, which
// a page with many frames can cause, it waits for that answer for ever. We look at
// the page by script only.
func forgetDOM(t *testing.T, ctx context.Context) {
	t.Helper()
	_, err := chromedp.Call(ctx, css.Disable, cdp.Empty{}) // it builds on the other
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, dom.Disable, cdp.Empty{})
	require.NoError(t, err)
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// eval returns what a JavaScript expression gives.
func eval[T any](b *tab, format string, args ...any) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](fmt.Sprintf(format, args...)))
	require.NoError(b.t, err)
	return v
}

// js runs JavaScript for what it does.
func js(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](expression)
}

// waitFor waits until a JavaScript expression is true. It asks again and again, as
// a promise in a page that is about to be replaced is never kept.
func (b *tab) waitFor(format string, args ...any) {
	b.t.Helper()
	expr := fmt.Sprintf(format, args...)
	deadline := time.Now().Add(patience)
	for {
		ctx, stop := context.WithTimeout(b.ctx, 10*time.Second)
		ok, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expr))
		stop()
		if err == nil && ok {
			return
		}
		if time.Now().After(deadline) {
			require.NoError(b.t, err)
			require.Fail(b.t, "it never came true", expr)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// patience is how long to wait for what does come unless something is broken.
const patience = 5 * time.Minute

// ready is true once the interactive layer is there.
const ready = `document.querySelector('[role=tree]') !== null`

// open loads a file and waits for the interactive layer.
func (b *tab) open(path string) {
	b.t.Helper()
	b.run(chromedp.Navigate("file://" + path))
	b.waitFor(ready)
}

// center returns the middle of a drawn frame, found by its label.
func (b *tab) center(label string) (x, y float64) {
	b.t.Helper()
	at := eval[[]float64](b, `(() => {
		const text = Array.from(document.querySelectorAll('[data-ft=frames] text')).find(t => t.textContent === %q);
		if (!text) return [];
		text.previousElementSibling.scrollIntoView({ block: 'center' });
		const r = text.previousElementSibling.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, label)
	require.Len(b.t, at, 2, "a frame with the label %q is drawn", label)
	return at[0], at[1]
}

func (b *tab) hover(label string) {
	b.t.Helper()
	x, y := b.center(label)
	b.run(chromedp.MouseEvent("mouseMoved", x, y))
}

// tip returns the lines of the tooltip.
func (b *tab) tip() string {
	b.t.Helper()
	return eval[string](b, `Array.from(document.querySelectorAll('[data-ft=tip] text')).map(t => t.textContent).join('\n')`)
}

func (b *tab) click(label string) {
	b.t.Helper()
	x, y := b.center(label)
	b.run(chromedp.MouseClickXY(x, y))
}

// clickControl clicks the button or the tspan with a text.
func (b *tab) clickControl(text string) {
	b.t.Helper()
	at := eval[[]float64](b, `(() => {
		const e = Array.from(document.querySelectorAll('button, tspan')).find(t => t.textContent === %q);
		e.scrollIntoView({ block: 'nearest' });
		const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, text)
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

func (b *tab) key(keys string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(keys))
}

// media makes the page believe in a medium and in preferences of the reader, given
// as names and values.
func (b *tab) media(medium string, features ...string) {
	b.t.Helper()
	p := emulation.SetEmulatedMediaParams{Media: medium}
	for i := 0; i < len(features); i += 2 {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, p)
	require.NoError(b.t, err)
}

// labels returns the labels of all drawn frames.
func (b *tab) labels() []string {
	b.t.Helper()
	return eval[[]string](b, `Array.from(document.querySelectorAll('[data-ft=frames] text')).map(t => t.textContent)`)
}

func (b *tab) text(part string) string {
	b.t.Helper()
	return eval[string](b, `document.querySelector('[data-ft=%s]').textContent`, part)
}

// searchFor searches for an expression and returns the line with the result.
func (b *tab) searchFor(expression string) string {
	b.t.Helper()
	return b.searchAll([]string{expression})[0]
}

// searchAll searches for one expression after the other within the page. Values
// are set at once, as an input method does; typing is a case of its own.
func (b *tab) searchAll(expressions []string) []string {
	b.t.Helper()
	list, err := json.Marshal(expressions)
	require.NoError(b.t, err)
	results, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`(async () => {
		const input = document.querySelector('input'), result = document.querySelector('[data-ft=matched]');
		const out = [];
		for (const expression of `+string(list)+`) {
			result.textContent = '';
			input.value = expression;
			input.dispatchEvent(new Event('input'));
			while (result.textContent === '') await new Promise(done => setTimeout(done, 10));
			out.push(result.textContent);
		}
		return out;
	})()`, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err)
	require.Len(b.t, results, len(expressions))
	return results
}

// serve returns the address of a page with a content security policy.
func serve(t *testing.T, policy, contentType, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func tempFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// inline is the file as it stands inside a page.
func inline(file string) string {
	_, body, _ := strings.Cut(file, "?>")
	return body
}
