//go:build integration

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The committed sources of the collector are what ocb makes of
// builder-config.yaml and the module. `make generate` brings them up to date.
func TestCollectorSourcesAreUpToDate(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	copySources(t, root, module)

	tools, err := filepath.Abs(filepath.Join(root, "internal", "tools", "ocb", "go.mod"))
	require.NoError(t, err)
	cmd := exec.Command("go", "tool", "-modfile="+tools, "builder", "--config", "builder-config.yaml", "--skip-compilation")
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // where the builder leaves a folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	committed := filepath.Join(root, "cmd", "otelcol")
	for _, name := range []string{"components.go", "main.go", "main_others.go", "main_windows.go", "go.mod", "go.sum"} {
		want, err := os.ReadFile(filepath.Join(committed, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(module, "cmd", "otelcol", name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s is out of date: make generate", name)
	}
}

// copySources copies what the go command reads to resolve the module: sources,
// tests included, and module files.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	skipped := []string{".git", ".tools", "bin", "testdata", "profiles"}
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != from && slices.Contains(skipped, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") && !slices.Contains([]string{"go.mod", "go.sum", "builder-config.yaml"}, name) {
			return nil
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
	require.NoError(t, err)
}
