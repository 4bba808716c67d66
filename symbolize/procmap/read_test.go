package procmap

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const libLine = "400000-401000 r-xp 00000000 00:01 9 /lib\n"

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

func TestReadFallsBackToALiveThread(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	write(t, filepath.Join(proc, "7/maps"), "")
	write(t, filepath.Join(proc, "7/task/7/maps"), "")
	write(t, filepath.Join(proc, "7/task/8/maps"), "")
	write(t, filepath.Join(proc, "7/task/9/maps"), libLine)
	got, err := Read(proc, 7)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Equal(t, "/lib", got[0].Path)
}

func TestReadOfAZombieIsEmpty(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	write(t, filepath.Join(proc, "7/maps"), "")
	write(t, filepath.Join(proc, "7/task/7/maps"), "")
	got, err := Read(proc, 7)
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestReadOfAProcessThatIsGone(t *testing.T) {
	t.Parallel()
	_, err := Read(t.TempDir(), 999999)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
