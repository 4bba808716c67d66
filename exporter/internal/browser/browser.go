// Package browser starts a headless Chromium for tests. It serves tests only and
// needs Debian's package chromium.
package browser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Start starts a browser and returns the context that its tabs are made of. It and
// its files are gone when the test ends.
func Start(tb testing.TB, opts ...chromedp.ExecAllocatorOption) context.Context {
	tb.Helper()
	var err error
	for range 3 {
		var ctx context.Context
		if ctx, err = launch(tb, opts); err == nil {
			return ctx
		}
	}
	tb.Fatalf("start Chromium; install Debian's package chromium if it is missing: %v", err)
	return nil
}

// comeUp is how long a browser may take to start. On a loaded machine it can get
// stuck on its way up.
const comeUp = time.Minute

func launch(tb testing.TB, opts []chromedp.ExecAllocatorOption) (context.Context, error) {
	dir := folder(tb)
	all := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(comeUp),
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		chromedp.Env("TMPDIR="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir),
	)
	alloc, stop := chromedp.NewExecAllocator(tb.Context(), append(all, opts...)...)
	ctx, cancel := chromedp.NewContext(alloc)
	up := make(chan error, 1)
	go func() { up <- chromedp.Do(ctx) }()
	err := errors.New("it did not come up within a minute")
	select {
	case err = <-up:
	case <-time.After(comeUp):
	}
	if err != nil {
		cancel()
		stop()
		return nil, err
	}
	tb.Cleanup(func() { cancel(); stop() })
	return ctx, nil
}

// folder is one whose path is short enough for a socket in it, unlike that of
// TempDir. Processes of the browser may write a little longer than it lives.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for range 500 {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		tb.Error(err)
	})
	return dir
}
