//go:build integration

package svg_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/svg"
)

// firefoxSteps use the page and report what they saw, as nothing steers Debian's
// Firefox from outside.
const firefoxSteps = `<script>
const seen = { errors: [] };
window.onerror = message => seen.errors.push(String(message));
window.onunhandledrejection = event => seen.errors.push(String(event.reason));
const until = async f => { while (!f()) await new Promise(done => setTimeout(done, 20)); };
const part = name => document.querySelector('[data-ft=' + name + ']');
const texts = () => [...document.querySelectorAll('[data-ft=frames] text')];
const labels = () => texts().map(t => t.textContent).sort();
const key = name => document.querySelector('svg').dispatchEvent(new KeyboardEvent('keypress', { key: name, bubbles: true }));
(async () => {
	await until(() => document.querySelector('[role=tree]'));
	seen.all = labels();
	const serve = texts().find(t => t.textContent === 'serve').previousElementSibling, r = serve.getBoundingClientRect();
	serve.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: r.x + r.width / 2, clientY: r.y + r.height / 2 }));
	seen.hint = part('hint').textContent;
	const input = document.querySelector('input');
	input.value = 'parse|query';
	input.dispatchEvent(new Event('input'));
	await until(() => part('matched').textContent);
	seen.matched = part('matched').textContent;
	input.value = '(a+)+$|parse';
	input.dispatchEvent(new Event('input'));
	await until(() => !part('matched').textContent.includes('490'));
	seen.worker = part('matched').textContent;
	key('0');
	key('r');
	seen.reversed = labels();
	key('t');
	seen.table = document.querySelector('.panel tbody tr').textContent;
	key('d');
	seen.page = getComputedStyle(part('page')).fill;
	await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) });
})();
</script>`

func TestInFirefox(t *testing.T) {
	body := "<!DOCTYPE html><meta charset=utf-8><body>" + inline(render(t, parse(t, smallGraph), svg.Options{})) + firefoxSteps
	reports := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var report json.RawMessage
			if json.NewDecoder(r.Body).Decode(&report) == nil {
				reports <- report
			}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	dir := t.TempDir()
	firefox := exec.CommandContext(ctx, "firefox-esr", "--headless", "--no-remote", "--profile", dir, server.URL)
	firefox.Env = append(firefox.Environ(), "HOME="+dir, "TMPDIR="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	firefox.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, firefox.Start(), "make setup-test installs firefox-esr")
	defer func() {
		_ = syscall.Kill(-firefox.Process.Pid, syscall.SIGKILL)
		_ = firefox.Wait()
	}()
	var seen struct {
		Errors, All, Reversed              []string
		Hint, Matched, Worker, Table, Page string
	}
	select {
	case report := <-reports:
		require.NoError(t, json.Unmarshal(report, &seen))
	case <-ctx.Done():
		t.Fatal("Firefox reported nothing in five minutes")
	}
	assert.Empty(t, seen.Errors)
	assert.Equal(t, []string{"all", "log", "main", "main", "nginx", "parse", "postgres", "query", "read", "serve", "sort", "…plan"}, seen.All)
	assert.Contains(t, seen.Hint, "700 samples (70.00% of all)")
	assert.Equal(t, "Matched: 49.00% (490 samples, 2 functions), self 30.00% · here 42.86%, self 42.86%", seen.Matched)
	assert.Contains(t, seen.Worker, "Matched: 30.00%")
	assert.Contains(t, seen.Reversed, "sort")
	assert.Contains(t, seen.Table, "parse")
	assert.Equal(t, "rgb(20, 24, 29)", seen.Page)
}
