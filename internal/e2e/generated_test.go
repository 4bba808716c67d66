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
	copySources(t, root, module, ".go", "go.mod", "go.sum", "builder-config.yaml")

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

// The committed metadata of the components is what mdatagen and metricsgen make of
// metadata.yaml.
func TestMetadataIsUpToDate(t *testing.T) {
	t.Parallel()
	module := t.TempDir()
	copySources(t, root, module, ".go", "go.mod", "go.sum", ".tmpl", "metadata.yaml", "README.md")
	made := func(folder string) (list []string) {
		for _, component := range []string{"receiver", "exporter"} {
			for _, pattern := range []string{"documentation.md", "generated_*", "internal/metadata*/generated_*", "internal/metadata/testdata/*"} {
				found, err := filepath.Glob(filepath.Join(folder, component, pattern))
				require.NoError(t, err)
				for _, name := range found {
					list = append(list, strings.TrimPrefix(name, folder))
				}
			}
		}
		return list
	}
	for _, name := range made(module) {
		require.NoError(t, os.Remove(filepath.Join(module, name)))
	}
	cmd := exec.Command("go", "generate", "./receiver", "./exporter")
	cmd.Dir = module
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	require.NotEmpty(t, made(module))
	require.Equal(t, made(root), made(module), "make generate")
	for _, name := range append(made(root), "receiver/README.md", "exporter/README.md") {
		want, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(module, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s is out of date: make generate", name)
	}
}

// copySources copies the files whose names end in one of these, but for data of
// tests.
func copySources(t *testing.T, from, to string, ends ...string) {
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
		if !slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(name, end) }) {
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
