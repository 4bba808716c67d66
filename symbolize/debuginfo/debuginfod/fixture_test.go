package debuginfod

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/debuginfo"
)

// program is a small program, built once, whose build ID is 20 bytes 0xaa.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "debuginfod")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "p")
	cmd := exec.Command("gcc", "-x", "c", "-o", out, "-Wl,--build-id=0x"+strings.Repeat("aa", 20), "-")
	cmd.Stdin = strings.NewReader("int main(void) { return 0; }")
	if b, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, b)
	}
	return os.ReadFile(out)
})

// buildID returns the build ID number n.
func buildID(n byte) []byte { return bytes.Repeat([]byte{n}, 20) }

// programWith returns a program of a build ID with padding behind it.
func programWith(t testing.TB, n byte, padding int) []byte {
	t.Helper()
	b, err := program()
	require.NoError(t, err)
	out := bytes.Replace(b, buildID(0xaa), buildID(n), 1)
	require.True(t, n == 0xaa || !bytes.Equal(out, b))
	return append(out, make([]byte, padding)...)
}

// fakeServer serves files by build ID and counts what it is asked.
type fakeServer struct {
	*httptest.Server
	requests atomic.Int64
	files    map[string][]byte
}

func newServer(t *testing.T, files map[byte][]byte) *fakeServer {
	s := &fakeServer{files: make(map[string][]byte)}
	for n, b := range files {
		s.files[fmt.Sprintf("/buildid/%x/debuginfo", buildID(n))] = b
	}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		b, ok := s.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(s.Close)
	return s
}

// clock is a clock that only tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClient(t *testing.T, o Options, urls ...string) *Client {
	t.Helper()
	o.URLs = urls
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(t.TempDir(), "cache")
	}
	c, err := New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// settle asks until the answer is final.
func settle(t *testing.T, c *Client, n byte) (*debuginfo.Found, State) {
	t.Helper()
	for range 3000 {
		f, state := c.Find(buildID(n))
		if f != nil {
			t.Cleanup(func() { f.File.Close() })
		}
		if state != Pending {
			return f, state
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the file is still pending")
	return nil, Missing
}

func contents(t *testing.T, f *debuginfo.Found) []byte {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(f.File, 0, f.Size))
	require.NoError(t, err)
	return b
}

// list returns the names in the cache.
func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
