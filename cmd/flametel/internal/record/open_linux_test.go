package record

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only a file that was just written is given away.
func TestGiveLeavesOtherFilesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, mode))
		return path
	}
	uid, gid, now := uint32(os.Getuid()), uint32(os.Getgid()), time.Now()
	assert.NoError(t, give(file("fresh", 0o600), uid, gid, now))

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file("target", 0o600), link))
	linked := file("linked", 0o600)
	require.NoError(t, os.Link(linked, filepath.Join(dir, "other name")))
	old := file("old", 0o600)
	require.NoError(t, os.Chtimes(old, now, now.Add(-time.Hour)))
	for name, path := range map[string]string{
		"link": link, "another name": linked, "old": old, "another mode": file("mode", 0o640), "folder": dir, "missing": filepath.Join(dir, "missing"),
	} {
		assert.Error(t, give(path, uid, gid, now), name)
	}
}
