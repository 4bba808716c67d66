package debuginfod

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDirectoryStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	files := make(map[byte][]byte)
	for n := range byte(6) {
		files[n] = programWith(t, n, 100_000)
	}
	size := int64(len(files[0]))
	s := newServer(t, files)
	now := newClock()
	dir := filepath.Join(t.TempDir(), "cache")
	c := newClient(t, Options{CacheDir: dir, MaxCacheBytes: 3*size + size/2, MaxFileBytes: size, Now: now.Now}, s.URL)
	for n := range byte(6) {
		_, state := settle(t, c, n)
		require.Equal(t, Found, state)
		now.advance(time.Second)
		_, state = settle(t, c, 0) // used again and again, so it stays
		require.Equal(t, Found, state)
		now.advance(time.Second)
		require.LessOrEqual(t, len(list(t, dir)), 3)
	}
	assert.Equal(t, []string{
		fmt.Sprintf("%x.debug", buildID(0)), fmt.Sprintf("%x.debug", buildID(4)), fmt.Sprintf("%x.debug", buildID(5)),
	}, list(t, dir))
	assert.Equal(t, int64(6), s.requests.Load())

	// A smaller bound counts at the next start.
	c.Close()
	newClient(t, Options{CacheDir: dir, MaxCacheBytes: size + 1}, s.URL)
	assert.Equal(t, []string{fmt.Sprintf("%x.debug", buildID(0))}, list(t, dir))
}

func TestDamagedFilesAreFetchedAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, map[byte][]byte{1: programWith(t, 1, 0)})
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	name := filepath.Join(dir, fmt.Sprintf("%x.debug", buildID(1)))
	for _, b := range [][]byte{nil, []byte("half"), programWith(t, 2, 0)} {
		require.NoError(t, os.WriteFile(name, b, 0o600))
		c := newClient(t, Options{CacheDir: dir}, s.URL)
		f, state := c.Find(buildID(1))
		assert.Nil(t, f)
		assert.Equal(t, Pending, state)
		_, state = settle(t, c, 1)
		assert.Equal(t, Found, state)
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	for name, age := range map[string]time.Duration{
		"aa.x.part": 2 * time.Hour, "bb.x.part": time.Minute, "cc.absent": 2 * time.Hour, "dd.absent": time.Minute, "notes.txt": 1000 * time.Hour,
	} {
		p := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(p, nil, 0o600))
		at := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(p, at, at))
	}
	newClient(t, Options{CacheDir: dir}, "http://127.0.0.1:1")
	assert.Equal(t, []string{"bb.x.part", "dd.absent", "notes.txt"}, list(t, dir))
}

func TestDirectoriesThatOthersCanUseAreRefused(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	wide := filepath.Join(parent, "wide")
	require.NoError(t, os.Mkdir(wide, 0o700))
	require.NoError(t, os.Chmod(wide, 0o755))
	good := filepath.Join(parent, "good")
	require.NoError(t, os.Mkdir(good, 0o700))
	link := filepath.Join(parent, "link")
	require.NoError(t, os.Symlink(good, link))
	file := filepath.Join(parent, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	dirs := []string{"", wide, link, file}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(parent, "foreign")
		require.NoError(t, os.Mkdir(foreign, 0o700))
		require.NoError(t, os.Chown(foreign, 12345, 12345))
		dirs = append(dirs, foreign)
	}
	for _, dir := range dirs {
		c, err := New(Options{URLs: []string{"http://127.0.0.1:1"}, CacheDir: dir})
		assert.Error(t, err, dir)
		assert.Nil(t, c)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://debuginfod.example": "", "http://[::1]:8002/": "", "http://h/path/": "",
		"ftp://h": "http or https", "file:///etc": "http or https", "h:8002": "http or https", "": "http or https",
		"https://user:secret@h": "remove the user name", "https://": "no host", "http:h": "no host",
		"http://h/?a=secret": "remove what follows", "http://h/#a": "remove what follows", "http://h\x7f:secret": "not a URL",
	} {
		err := ValidateURL(text)
		if want == "" {
			assert.NoError(t, err, text)
			continue
		}
		require.Error(t, err, text)
		assert.ErrorContains(t, err, want, text)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := New(Options{CacheDir: t.TempDir()})
	assert.ErrorContains(t, err, "no server")
}
