package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

var (
	// errAbsent tells that a server has no such file, errRefused that what it
	// sent is not wanted. All other errors may pass.
	errAbsent  = errors.New("the server has no such file")
	errRefused = errors.New("refused")
)

const (
	// maxFetch bounds how long one file may take, however slowly it comes.
	maxFetch = 10 * time.Minute
	// maxRedirects is as many as servers in front of others need.
	maxRedirects = 3
	// A server that failed is left alone from firstPause on, twice as long each
	// time up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	maxHeaders   = 64 << 10
)

// server is a debuginfod server, and how it behaves.
type server struct {
	base *url.URL

	mu    sync.Mutex
	until time.Time // not to be asked until then
	pause time.Duration
}

func (s *server) down(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.until)
}

func (s *server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause, s.until = 0, time.Time{}
}

func (s *server) failed(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = min(max(2*s.pause, firstPause), longestPause)
	s.until = now.Add(s.pause)
}

func newHTTPClient(stall time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: stall}).DialContext,
			TLSHandshakeTimeout:    stall,
			ResponseHeaderTimeout:  stall,
			IdleConnTimeout:        stall,
			MaxConnsPerHost:        workers,
			MaxResponseHeaderBytes: maxHeaders,
			DisableCompression:     true, // sizes are those of the file
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: checkRedirect,
	}
}

// checkRedirect follows servers to others, but neither to other protocols, nor
// from a protected connection to one that is not, nor with secrets.
func checkRedirect(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", errRefused, maxRedirects)
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return fmt.Errorf("%w: redirect to %s", errRefused, r.URL.Scheme)
	case r.URL.Scheme == "http" && via[0].URL.Scheme == "https":
		return fmt.Errorf("%w: redirect from https to http", errRefused)
	case r.URL.User != nil:
		return fmt.Errorf("%w: redirect with a user name", errRefused)
	}
	return nil
}

// fetch asks one server for a file and keeps what it sends, if it is right. It
// returns the file's size.
func (c *Client) fetch(base *url.URL, id string) (int64, error) {
	ctx, cancel := context.WithTimeout(c.ctx, maxFetch)
	defer cancel()
	u := *base
	u.Path += "/buildid/" + id + "/debuginfo"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("User-Agent", "flametel")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return 0, errAbsent
	case resp.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("the server answers %d", resp.StatusCode)
	case resp.ContentLength > c.opts.MaxFileBytes:
		return 0, fmt.Errorf("%w: the file has %d bytes", errRefused, resp.ContentLength)
	}
	limit := c.opts.MaxFileBytes
	if resp.ContentLength >= 0 {
		limit = resp.ContentLength
	}
	// A server that stops sending is given up.
	timer := time.AfterFunc(c.opts.Stall, cancel)
	defer timer.Stop()
	body := &progress{r: resp.Body, tick: func() { timer.Reset(c.opts.Stall) }}
	return c.cache.store(id, body, limit)
}

// progress calls tick whenever something was read.
type progress struct {
	r    io.Reader
	tick func()
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if n > 0 {
		p.tick()
	}
	return n, err
}
