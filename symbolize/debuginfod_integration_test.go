//go:build integration

package symbolize

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/loopback"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// debugServer is Debian's debuginfod behind a door that counts, and lets
// nobody through while it is shut.
type debugServer struct {
	url  string
	mu   sync.Mutex
	asks map[string]int // by path
	shut chan struct{}  // nil while it is open
}

func (d *debugServer) asked(buildID []byte) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asks["/buildid/"+hex.EncodeToString(buildID)+"/debuginfo"]
}

// close lets nobody through until open is called.
func (d *debugServer) close() (open func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	shut := make(chan struct{})
	d.shut = shut
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.shut = nil
		close(shut)
	})
}

// serveDebugFiles starts the server of the package debuginfod for a folder and
// waits until it knows a file there.
func serveDebugFiles(t *testing.T, files string, known []byte) *debugServer {
	t.Helper()
	port := loopback.Address(t).Port()
	server := exec.Command("debuginfod", "-F", "-d", ":memory:", "-p", fmt.Sprint(port), "-t", "1", files)
	server.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+t.TempDir())
	var log bytes.Buffer
	server.Stderr = &log
	require.NoError(t, server.Start(), "install the package debuginfod")
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	behind, err := url.Parse(fmt.Sprintf("http://127.0.0.1:%d", port))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		answer, err := http.Get(behind.String() + "/buildid/" + hex.EncodeToString(known) + "/debuginfo")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond, "the server does not index the file")
	http.DefaultClient.CloseIdleConnections()

	d := &debugServer{asks: make(map[string]int)}
	through := httputil.NewSingleHostReverseProxy(behind)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	through.Transport = transport
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		d.asks[r.URL.Path]++
		shut := d.shut
		d.mu.Unlock()
		if shut != nil {
			select {
			case <-shut:
			case <-r.Context().Done():
				return
			}
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		door.Close()
		transport.CloseIdleConnections()
	})
	d.url = door.URL
	return d
}

// strippedSleeper starts a stripped program with a function that has no name in
// it, and leaves its debug file in the folder files.
func strippedSleeper(t *testing.T, function string, id byte) (l live, buildID []byte, files string) {
	t.Helper()
	buildID = bytes.Repeat([]byte{id}, 20)
	dir := fixture.Build(t, map[string]string{"a.c": sleeper("static_function")}, "mkdir files",
		fmt.Sprintf("gcc -g -O1 -Dstatic_function=%s -fvisibility=hidden -Wl,--build-id=0x%x -o prog a.c", function, buildID),
		"objcopy --only-keep-debug prog files/prog.debug", "strip prog")
	return start(t, exec.Command(filepath.Join(dir, "prog"))), buildID, filepath.Join(dir, "files")
}

// TestLiveDebugServer has programs named by a server: late, because nobody
// waits for it, and not at all if it has no file of them.
func TestLiveDebugServer(t *testing.T) {
	t.Parallel()
	known, id, files := strippedSleeper(t, "served_function", 0xc1)
	other, otherID, _ := strippedSleeper(t, "other_function", 0xc2)
	server := serveDebugFiles(t, files, id)
	client, err := debuginfod.New(debuginfod.Options{URLs: []string{server.url}, CacheDir: filepath.Join(t.TempDir(), "cache")})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	clock := &clock{time.Now()}
	s := newPatient(Options{DebugDirs: []string{}, Fetcher: client, Now: clock.Now})
	t.Cleanup(s.Close)

	open := server.close() // first: a file that was just written is asked for when it is opened
	t.Cleanup(open)
	p, q := opened(t, s, known.pid), opened(t, s, other.pid)
	for range 20 {
		begin := time.Now()
		f := one(s, p, known.at)
		assert.Less(t, time.Since(begin), 20*time.Second, "the server answers nobody")
		assert.Equal(t, ReasonNoSymbol, f.Reason)
		assert.Empty(t, name(one(s, q, other.at)))
		clock.now = clock.now.Add(newsInterval)
	}
	require.Eventually(t, func() bool { return server.asked(id) == 1 }, time.Minute, time.Millisecond)

	open()
	f := &Frame{}
	require.Eventually(t, func() bool {
		clock.now = clock.now.Add(newsInterval)
		f = one(s, p, known.at)
		return len(f.Lines) > 0
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, "served_function", name(f))
	assert.Equal(t, "a.c", filepath.Base(f.Lines[0].File))
	assert.Positive(t, f.Lines[0].Line)

	require.Eventually(t, func() bool { return client.Stats().Absent >= 1 }, time.Minute, time.Millisecond)
	for range 20 {
		clock.now = clock.now.Add(newsInterval)
		assert.Equal(t, ReasonNoSymbol, one(s, q, other.at).Reason)
	}
	again := NewProcess(other.pid, 0).With(q.Mappings)
	assert.Empty(t, name(one(s, again, other.at+1)))
	assert.Equal(t, 1, server.asked(otherID), "the answer that there is none is kept")
	assert.Equal(t, 1, server.asked(id))

	// Another profiler finds the file where this one left it.
	second := newPatient(Options{DebugDirs: []string{}, Fetcher: client, Now: clock.Now})
	t.Cleanup(second.Close)
	assert.Equal(t, "served_function", name(one(second, opened(t, second, known.pid), known.at)))
	assert.Equal(t, 1, server.asked(id))
}
