package exporter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"

	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/internal/stackgen"
)

func TestRemoveOldestTouchesOnlyItsOwnFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "we*ird[1]")
	require.NoError(t, os.Mkdir(dir, 0o700))
	tmpl, err := parseTemplate(filepath.Join(dir, "{service}-{start}.svg"))
	require.NoError(t, err)
	now := time.Now()
	touch := func(name string, age time.Duration) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, now.Add(-age), now.Add(-age)))
	}
	touch("a-20260102T030405Z.svg", 5*time.Hour)
	touch("b-20260102T030405Z.svg", 4*time.Hour)
	touch("c-d-20260102T030405Z.svg", 3*time.Hour)
	touch("e-20260102T030405Z.svg", 2*time.Hour)
	others := []string{"notes.svg", "a-2026.svg", "a-20260102T030405Z.svg.bak", "-20260102T030405Z.svg", ".a-20260102T030405Z.svg", "a-20260102T030405Z-svg"}
	for _, name := range others {
		touch(name, 100*time.Hour)
	}
	folder := filepath.Join(dir, "f-20260102T030405Z.svg")
	require.NoError(t, os.Mkdir(folder, 0o700))
	link := filepath.Join(dir, "l-20260102T030405Z.svg")
	require.NoError(t, os.Symlink(filepath.Join(dir, "notes.svg"), link))

	require.NoError(t, removeOldest(tmpl, 2, nil))
	want := append(others, "c-d-20260102T030405Z.svg", "e-20260102T030405Z.svg", filepath.Base(folder), filepath.Base(link))
	assert.ElementsMatch(t, want, names(t, dir))
	require.NoError(t, removeOldest(tmpl, 2, nil))
	assert.ElementsMatch(t, want, names(t, dir))
}

func TestRemoveOldestInFolderWithPlaceholder(t *testing.T) {
	dir := t.TempDir()
	tmpl, err := parseTemplate(dir + "/./{service}//{start}.svg")
	require.NoError(t, err)
	for i, service := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, service, "20260102T030405Z.svg")
		require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, removeOldest(tmpl, 1, nil))
	assert.Empty(t, names(t, filepath.Join(dir, "a")))
	assert.Empty(t, names(t, filepath.Join(dir, "b")))
	assert.Len(t, names(t, filepath.Join(dir, "c")), 1)
}

func TestMaxFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		path := filepath.Join(dir, "s"+string(rune('a'+i))+"-cpu.folded")
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	export(t, config(filepath.Join(dir, "{service}-{type}.folded"), func(c *Config) { c.MaxFiles = 2 }), oneStack("app", 1, "main"))
	assert.Equal(t, []string{"app-cpu.folded", "sd-cpu.folded"}, names(t, dir))
}

// An interval may need more files than are kept; each of them is wanted.
func TestMaxFilesNeverRemovesTheIntervalJustWritten(t *testing.T) {
	dir := t.TempDir()
	e, err := newFileExporter(config(filepath.Join(dir, "{service}-{type}-{start}.folded"), func(c *Config) {
		c.Interval, c.MaxFiles = time.Hour, 2
	}), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	now := stackgen.Start()
	e.now = func() time.Time { return now }
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	for _, services := range [][]string{{"a", "b", "c"}, {"d", "e", "f", "g"}, {"h"}} {
		for _, service := range services {
			require.NoError(t, e.consume(t.Context(), oneStack(service, 1, "main")))
		}
		now = now.Add(time.Hour)
		require.NoError(t, e.write(periodic))
		left := names(t, dir)
		require.Len(t, left, max(2, len(services)))
		for _, service := range services {
			assert.Contains(t, strings.Join(left, " "), service+"-cpu-")
		}
	}
	require.NoError(t, e.shutdown(t.Context()))
}

// A second type has a file of its own, which is removed in its turn as well.
func TestMaxFilesCountsFilesWithTheTypeAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	tmpl, err := parseTemplate(filepath.Join(dir, "{start}.svg"))
	require.NoError(t, err)
	for i, name := range []string{"20260102T030405Z-off_cpu.svg", "20260102T030405Z.svg", "notes-20260102T030405Z.svg"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		require.NoError(t, os.Chtimes(path, at, at))
	}
	require.NoError(t, removeOldest(tmpl, 1, nil))
	assert.Equal(t, []string{"20260102T030405Z.svg", "notes-20260102T030405Z.svg"}, names(t, dir))
}
