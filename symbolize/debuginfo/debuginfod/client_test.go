package debuginfod

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/debuginfo"
)

func TestAFileArrivesForALaterFind(t *testing.T) {
	t.Parallel()
	want := programWith(t, 1, 1000)
	s := newServer(t, map[byte][]byte{1: want})
	dir := filepath.Join(t.TempDir(), "a", "cache")
	c := newClient(t, Options{CacheDir: dir}, s.URL+"/")
	f, state := c.Find(buildID(1))
	assert.Nil(t, f)
	assert.Equal(t, Pending, state)
	f, state = settle(t, c, 1)
	require.Equal(t, Found, state)
	assert.Equal(t, want, contents(t, f))
	assert.Equal(t, buildID(1), f.ELF.BuildIDs().GNU)
	assert.Equal(t, debuginfo.SourceDebuginfod, f.Source)
	assert.Equal(t, uint64(1), c.Generation())
	assert.Equal(t, Stats{Fetched: 1, Bytes: uint64(len(want))}, c.Stats())

	assert.Equal(t, []string{fmt.Sprintf("%x.debug", buildID(1))}, list(t, dir))
	info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%x.debug", buildID(1))))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	// It stays for the next run, whatever the servers do.
	c.Close()
	f, state = c.Find(buildID(1))
	assert.Nil(t, f)
	assert.Equal(t, Missing, state)
	c = newClient(t, Options{CacheDir: dir}, "http://127.0.0.1:1")
	f, state = c.Find(buildID(1))
	require.Equal(t, Found, state)
	f.File.Close()
	assert.Equal(t, int64(1), s.requests.Load())
}

func TestABuildIDThatIsNoneIsNotAskedFor(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	c := newClient(t, Options{}, s.URL)
	for _, id := range [][]byte{nil, {}, {1}, make([]byte, 7), make([]byte, 65)} {
		_, state := c.Find(id)
		assert.Equal(t, Missing, state)
	}
	assert.Zero(t, s.requests.Load())
}

func TestAbsentFilesAreRemembered(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	now := newClock()
	o := Options{CacheDir: filepath.Join(t.TempDir(), "cache"), AbsentFor: time.Hour, Now: now.Now}
	c := newClient(t, o, s.URL)
	for range 3 {
		_, state := settle(t, c, 1)
		assert.Equal(t, Missing, state)
	}
	assert.Equal(t, int64(1), s.requests.Load())
	c.Close()
	c = newClient(t, o, s.URL)
	now.advance(50 * time.Minute)
	_, state := c.Find(buildID(1))
	assert.Equal(t, Missing, state)
	assert.Equal(t, int64(1), s.requests.Load())

	s.files[fmt.Sprintf("/buildid/%x/debuginfo", buildID(1))] = programWith(t, 1, 0)
	now.advance(11 * time.Minute)
	_, state = settle(t, c, 1)
	assert.Equal(t, Found, state)
	assert.Equal(t, []string{fmt.Sprintf("%x.debug", buildID(1))}, list(t, o.CacheDir))
}

func TestWrongAnswersAreRefused(t *testing.T) {
	t.Parallel()
	right := programWith(t, 1, 0)
	const limit = 100_000
	tests := map[string]http.HandlerFunc{
		"another build ID": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(programWith(t, 2, 0)) },
		"no ELF file":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"nothing":          func(http.ResponseWriter, *http.Request) {},
		"too large":        func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(programWith(t, 1, limit)) },
		"too large, size not told": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(right)
			w.(http.Flusher).Flush()
			_, _ = w.Write(make([]byte, limit))
		},
		"endless redirects": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) },
		"redirect to a file": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		},
		"redirect with a password": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://user:secret@"+r.Host+"/x", http.StatusFound)
		},
	}
	for name, handler := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(handler)
			t.Cleanup(s.Close)
			dir := filepath.Join(t.TempDir(), "cache")
			c := newClient(t, Options{CacheDir: dir, MaxFileBytes: limit}, s.URL)
			_, state := settle(t, c, 1)
			assert.Equal(t, Missing, state)
			assert.Equal(t, Stats{Refused: 1, Absent: 1}, c.Stats())
			assert.Equal(t, []string{fmt.Sprintf("%x.absent", buildID(1))}, list(t, dir))
		})
	}
}

func TestRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[byte][]byte{1: programWith(t, 1, 0)})
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.URL+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(first.Close)
	c := newClient(t, Options{}, first.URL)
	_, state := settle(t, c, 1)
	assert.Equal(t, Found, state)

	from := httptest.NewRequest(http.MethodGet, "https://a/", nil)
	assert.ErrorIs(t, checkRedirect(httptest.NewRequest(http.MethodGet, "http://a/", nil), []*http.Request{from}), errRefused)
	assert.NoError(t, checkRedirect(httptest.NewRequest(http.MethodGet, "https://b/", nil), []*http.Request{from}))
}

func TestTheNextServerIsAskedAndAFailingOneIsLeftAlone(t *testing.T) {
	t.Parallel()
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(bad.Close)
	empty := newServer(t, nil)
	good := newServer(t, map[byte][]byte{1: programWith(t, 1, 0), 2: programWith(t, 2, 0)})
	now := newClock()
	c := newClient(t, Options{Now: now.Now, RetryAfter: time.Minute}, bad.URL, empty.URL, good.URL)
	for n := range byte(3) {
		_, state := settle(t, c, n)
		assert.Equal(t, n > 0, state == Found, "%d", n)
	}
	assert.Equal(t, uint64(1), c.Stats().Failed) // asked once, then not before its pause is over
	assert.Equal(t, uint64(0), c.Stats().Absent) // the failing one might have it
	asked := good.requests.Load()
	_, state := c.Find(buildID(0))
	assert.Equal(t, Missing, state)
	now.advance(61 * time.Second)
	_, state = settle(t, c, 0)
	assert.Equal(t, Missing, state)
	assert.Equal(t, asked+1, good.requests.Load())
	assert.Equal(t, uint64(2), c.Stats().Failed)
}

func TestManyAskAtATimeAndClose(t *testing.T) {
	t.Parallel()
	files := make(map[byte][]byte)
	for n := range byte(20) {
		files[n] = programWith(t, n, 1000)
	}
	s := newServer(t, files)
	size := int64(len(files[0]))
	dir := filepath.Join(t.TempDir(), "cache")
	c := newClient(t, Options{CacheDir: dir, MaxCacheBytes: 5 * size, MaxFileBytes: 2 * size}, s.URL)
	var done sync.WaitGroup
	for range 8 {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := 0; ; i++ {
				n := byte(i % 20)
				f, state := c.Find(buildID(n))
				if f != nil {
					assert.Equal(t, Found, state)
					assert.Equal(t, buildID(n), f.ELF.BuildIDs().GNU)
					f.File.Close()
				}
				if state == Missing {
					return // closed: all these files exist
				}
			}
		}()
	}
	require.Eventually(t, func() bool { return c.Generation() >= 20 }, time.Minute, time.Millisecond)
	c.Close()
	c.Close()
	done.Wait()
	assert.LessOrEqual(t, len(list(t, dir)), 5)
	assert.Zero(t, c.Stats().Refused+c.Stats().Absent)
}

// TestAServerThatNeverAnswers is not parallel: it looks at memory.
func TestAServerThatNeverAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() // connections wait in the backlog for ever
	dir := filepath.Join(t.TempDir(), "cache")
	// Longer than the test takes: a request that is given up makes room for another.
	c := newClient(t, Options{CacheDir: dir, Stall: 10 * time.Minute}, "http://"+l.Addr().String())
	before := heap()
	id := make([]byte, 20)
	for i := range 200_000 {
		le(id, i)
		f, state := c.Find(id)
		require.Nil(t, f)
		require.Contains(t, []State{Pending, Missing}, state)
	}
	assert.Less(t, heap()-before, int64(4<<20))
	assert.GreaterOrEqual(t, c.Stats().Dropped, uint64(200_000-maxQueue-workers-1))
	c.mu.Lock()
	assert.LessOrEqual(t, len(c.pending), maxQueue+workers)
	c.mu.Unlock()
	begun := time.Now()
	c.Close()
	assert.Less(t, time.Since(begun), c.opts.Stall, "Close must not wait for the server")
	assert.Empty(t, list(t, dir))
}

func le(b []byte, v int) { b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16) }

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAServerThatStopsHalfWay(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(programWith(t, 1, 0))
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(release) })
	dir := filepath.Join(t.TempDir(), "cache")
	c := newClient(t, Options{CacheDir: dir, Stall: 100 * time.Millisecond}, s.URL)
	_, state := settle(t, c, 1)
	assert.Equal(t, Missing, state)
	assert.Equal(t, uint64(1), c.Stats().Failed)
	assert.Empty(t, list(t, dir))
}
