//go:build integration

package debuginfod

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/loopback"
)

// TestRealServer needs the package debuginfod.
func TestRealServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.c"),
		[]byte("__attribute__((noinline)) static int secret(int n) { return n * 3; }\nint main(int c, char **v) { return secret(c); }\n"), 0o600))
	files := filepath.Join(dir, "files")
	require.NoError(t, os.Mkdir(files, 0o755))
	id := bytes.Repeat([]byte{0xb1}, 20)
	for _, c := range []string{
		fmt.Sprintf("gcc -g -O1 -Wl,--build-id=0x%x -o whole p.c", id),
		"objcopy --only-keep-debug whole files/p.debug",
	} {
		cmd := exec.Command("sh", "-ec", c)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c, out)
	}
	port := loopback.Address(t).Port()

	server := exec.Command("debuginfod", "-F", "-d", ":memory:", "-p", fmt.Sprint(port), "-t", "1", files)
	server.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "HOME="+dir)
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

	c := newClient(t, Options{AbsentFor: time.Second, RetryAfter: time.Millisecond}, fmt.Sprintf("http://127.0.0.1:%d", port))
	for deadline := time.Now().Add(time.Minute); ; {
		f, state := c.Find(id)
		if state == Found {
			defer f.File.Close()
			syms, err := f.ELF.Symbols()
			require.NoError(t, err)
			named := false
			for i := range syms.Len() {
				named = named || syms.Name(i) == "secret"
			}
			assert.True(t, named)
			break
		}
		require.True(t, time.Now().Before(deadline), "the server has not indexed the file")
		time.Sleep(20 * time.Millisecond)
	}
	absent := c.Stats().Absent
	require.Eventually(t, func() bool {
		_, state := c.Find(bytes.Repeat([]byte{0xb2}, 20))
		return state == Missing && c.Stats().Absent > absent
	}, time.Minute, 10*time.Millisecond)
}
