//go:build integration

package perfmap

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFindRefusesAnotherUsersFile plants a link to a file of a third user,
// which takes root to set up.
func TestFindRefusesAnotherUsersFile(t *testing.T) {
	t.Parallel()
	proc, tmp := fakeProc(t, 12345, time.Minute)
	secret := filepath.Join(tmp, "secret")
	require.NoError(t, os.WriteFile(secret, []byte(mapText), 0o600))
	require.NoError(t, os.Chown(secret, 54321, 54321))
	name := filepath.Join(tmp, "perf-3.map")
	require.NoError(t, os.Symlink(secret, name))
	require.ErrorIs(t, find(t, proc), RefusedNotRegular)
	require.NoError(t, os.Remove(name))
	require.NoError(t, os.Link(secret, name))
	require.ErrorIs(t, find(t, proc), RefusedOwner)
	require.NoError(t, os.Chown(secret, 12345, 0))
	require.NoError(t, find(t, proc))
}
