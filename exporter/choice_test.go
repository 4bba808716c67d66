package exporter

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/internal/metadata"
)

// accounted adds to a message what a profiler accounts for.
func accounted(p pprofile.Profiles, idle int64) pprofile.Profiles {
	d := p.Dictionary()
	prof := p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0)
	d.AttributeTable().AppendEmpty()
	kv := d.AttributeTable().AppendEmpty()
	kv.SetKeyStrindex(int32(d.StringTable().Len()))
	d.StringTable().Append("flametel.samples.idle")
	kv.Value().SetInt(idle)
	rp := p.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutBool("flametel.accounting", true)
	rp.Resource().Attributes().PutStr("host.name", "host-a")
	account := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().CopyTo(account.SampleType())
	prof.PeriodType().CopyTo(account.PeriodType())
	account.AttributeIndices().Append(1)
	return p
}

func TestChoiceInAFile(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"everything": {func(*Config) {}, "db;main;query 5\nweb;main;parse 2\nweb;main;send 3\n"},
		"include":    {func(c *Config) { c.Include = "^parse$|^db$" }, "db;main;query 5\nweb;main;parse 2\n"},
		"exclude":    {func(c *Config) { c.Exclude = "send" }, "db;main;query 5\nweb;main;parse 2\n"},
		"both":       {func(c *Config) { c.Include, c.Exclude = "web", "send" }, "web;main;parse 2\n"},
		"merged":     {func(c *Config) { c.Merge = "none" }, "main;parse 2\nmain;query 5\nmain;send 3\n"},
		"idle":       {func(c *Config) { c.Idle, c.Include = true, "db" }, "[idle] 90\ndb;main;query 5\n"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.folded")
			export(t, config(path, tt.change),
				oneStack("web", 2, "main", "parse"), oneStack("web", 3, "main", "send"), accounted(oneStack("db", 5, "main", "query"), 90))
			assert.Equal(t, tt.want, string(read(t, path)))
		})
	}
}

// Who changes data must say so, else other exporters would see it changed.
func TestChoiceIsToldToTheCollector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.svg")
	assert.True(t, create(t, config(path, func(c *Config) { c.Include = "x" })).Capabilities().MutatesData)
	assert.True(t, create(t, config(path, func(c *Config) { c.Frames = "user" })).Capabilities().MutatesData)
	assert.False(t, create(t, config(path, func(c *Config) { c.Merge = "none" })).Capabilities().MutatesData)
}

func TestWhatIsLeftOutIsSaidInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.svg")
	export(t, config(path, func(c *Config) { c.Include = "^send$" }), oneStack("web", 2, "main", "parse"), oneStack("web", 3, "main", "send"))
	assert.Contains(t, string(read(t, path)), "2 left out")
}

func TestFlusherWritesAndGoesOn(t *testing.T) {
	for name, interval := range map[string]func(*Config){
		"one file":  func(*Config) {},
		"intervals": func(c *Config) { c.Interval = 1 << 50 },
	} {
		t.Run(name, func(t *testing.T) {
			var f Flusher
			require.NoError(t, f.Flush(), "there is nothing to write")
			path := filepath.Join(t.TempDir(), "p.folded")
			e, err := f.Factory().(xexporter.Factory).CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), config(path, interval))
			require.NoError(t, err)
			require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
			require.NoError(t, e.ConsumeProfiles(t.Context(), oneStack("app", 2, "main")))
			require.NoError(t, f.Flush())
			assert.Equal(t, "app;main 2\n", string(read(t, path)))
			require.NoError(t, e.ConsumeProfiles(t.Context(), oneStack("app", 5, "main")))
			require.NoError(t, e.Shutdown(t.Context()))
			assert.Equal(t, "app;main 7\n", string(read(t, path)))
			require.NoError(t, f.Flush())
			assert.Empty(t, f.running, "it does not keep what has ended")
		})
	}
}
