package exporter

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/formats"
	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/svg"
)

// compared is the comparison in a differential flame graph.
func compared(t *testing.T, path string) *callgraph.Comparison {
	t.Helper()
	f, err := svg.Read(bytes.NewReader(read(t, path)))
	require.NoError(t, err)
	require.NotNil(t, f.Comparison, path)
	return f.Comparison
}

func TestBaselineOfAFile(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(t.TempDir(), "base.folded")
	require.NoError(t, os.WriteFile(base, []byte("app;main 60\napp;gone 40\n"), 0o600))
	for _, file := range []string{"p.svg", "p.folded", "p.pb.gz"} {
		export(t, config(filepath.Join(dir, file), func(c *Config) { c.Baseline = base }), oneStack("app", 50, "main"))
		assert.Contains(t, names(t, dir), file)
		c := compared(t, filepath.Join(dir, "p.diff.svg"))
		assert.Equal(t, int64(100), c.Sides[callgraph.Before].Total)
		assert.Equal(t, int64(50), c.Sides[callgraph.After].Total)
		assert.Equal(t, "base.folded", c.Sides[callgraph.Before].Label)
		assert.Equal(t, file, c.Sides[callgraph.After].Label)
		assert.True(t, c.Normalized)
		require.NoError(t, os.Remove(filepath.Join(dir, "p.diff.svg")))
	}
}

// Our own SVG of yesterday is a baseline as good as any.
func TestBaselineOfAFlameGraph(t *testing.T) {
	dir := t.TempDir()
	export(t, config(filepath.Join(dir, "old.svg")), oneStack("app", 7, "main"))
	export(t, config(filepath.Join(dir, "new.svg"), func(c *Config) { c.Baseline = filepath.Join(dir, "old.svg") }), oneStack("app", 9, "main"))
	assert.Equal(t, []string{"new.diff.svg", "new.svg", "old.svg"}, names(t, dir))
	c := compared(t, filepath.Join(dir, "new.diff.svg"))
	assert.Empty(t, c.Movers())
}

func TestStartFailsOnABaselineThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("PERFILE2 and so on"), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "missing.svg"): "missing.svg: no such file or directory",
		bad:                               "this is perf's own recording",
	} {
		e := create(t, config(filepath.Join(dir, "p.svg"), func(c *Config) { c.Baseline = path }))
		err := e.Start(t.Context(), componenttest.NewNopHost())
		require.ErrorContains(t, err, "baseline: "+path)
		require.ErrorContains(t, err, want)
		require.NoError(t, e.Shutdown(t.Context()))
	}
}

// With placeholders each file has its own baseline; one without is written alone.
func TestBaselineForEachService(t *testing.T) {
	dir, base := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(base, "web.folded"), []byte("web;main 4\n"), 0o600))
	export(t, config(filepath.Join(dir, "{service}.svg"), func(c *Config) {
		c.Baseline = filepath.Join(base, "{service}.folded")
	}), oneStack("web", 3, "main"), oneStack("db", 3, "main"))
	assert.Equal(t, []string{"db.svg", "web.diff.svg", "web.svg"}, names(t, dir))
}

func TestBaselineOfThePreviousInterval(t *testing.T) {
	dir := t.TempDir()
	e, err := newFileExporter(config(filepath.Join(dir, "{type}-{start}.folded"), func(c *Config) {
		c.Interval, c.Baseline, c.MaxFiles = time.Hour, baselinePrevious, 2
	}), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	now := stackgen.Start()
	e.now = func() time.Time { return now }
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	for i := range int64(3) {
		require.NoError(t, e.consume(t.Context(), oneStack("app", 5+i, "main")))
		require.NoError(t, e.write(flush)) // is not the end of an interval
		now = now.Add(time.Hour)
		require.NoError(t, e.write(periodic))
	}
	files := names(t, dir)
	assert.Equal(t, []string{
		"cpu-20260102T040405Z.diff.svg", "cpu-20260102T040405Z.folded",
		"cpu-20260102T050405Z.diff.svg", "cpu-20260102T050405Z.folded",
	}, files, "max_files counts no twins, and removes them")
	c := compared(t, filepath.Join(dir, "cpu-20260102T050405Z.diff.svg"))
	assert.Equal(t, int64(6), c.Sides[callgraph.Before].Total)
	assert.Equal(t, int64(7), c.Sides[callgraph.After].Total)
	assert.Equal(t, "cpu-20260102T040405Z.folded", c.Sides[callgraph.Before].Label)
	require.NoError(t, e.shutdown(t.Context()))
}

// Each type in a file has a twin of its own.
func TestBaselineOfSeveralTypes(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.pb.gz")
	send := func(path, baseline string) {
		export(t, config(path, func(c *Config) { c.Baseline = baseline }),
			oneStack("app", 4, "main"), typed("off_cpu", "nanoseconds", "off_cpu", "app", 400, "wait"))
	}
	send(base, "")
	send(filepath.Join(dir, "p.pb.gz"), base)
	assert.Equal(t, []string{"base.pb.gz", "p-off_cpu.diff.svg", "p.diff.svg", "p.pb.gz"}, names(t, dir))
	assert.Equal(t, int64(400), compared(t, filepath.Join(dir, "p-off_cpu.diff.svg")).Sides[0].Total)
}

// Files say what made them.
func TestFactsReachTheFile(t *testing.T) {
	dir := t.TempDir()
	flusher := Flusher{Facts: []svg.Fact{{Name: "Command", Value: "flametel record -p 1"}}}
	set := exportertest.NewNopSettings(metadata.Type)
	set.BuildInfo.Command, set.BuildInfo.Version = "flametel", "1.2"
	for _, name := range []string{"p.svg", "p.pb.gz"} {
		e, err := flusher.Factory().(xexporter.Factory).CreateProfiles(t.Context(), set, config(filepath.Join(dir, name)))
		require.NoError(t, err)
		require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
		require.NoError(t, e.ConsumeProfiles(t.Context(), oneStack("app", 1, "main")))
		require.NoError(t, e.Shutdown(t.Context()))
		p, err := formats.Read(bytes.NewReader(read(t, filepath.Join(dir, name))), formats.ReadOptions{})
		require.NoError(t, err)
		assert.Equal(t, []svg.Fact{{Name: "Program", Value: "flametel 1.2"}, {Name: "Command", Value: "flametel record -p 1"}}, p.Facts)
	}
}
