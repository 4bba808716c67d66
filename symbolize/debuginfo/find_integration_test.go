//go:build integration && linux

package debuginfo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesOfOthersAreNotOpened(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withID)
	tr.put("p.debug", "/bin/p.debug")
	require.NoError(t, os.Chown(filepath.Join(tr.root, "bin/p.debug"), 12345, 0))
	tr.expectNone("belongs to user 12345")
	require.NoError(t, os.Chown(filepath.Join(tr.root, "bin/p"), 12345, 0))
	tr.expect("/bin/p.debug", SourceDebugLink)
}
