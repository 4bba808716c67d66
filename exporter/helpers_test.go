package exporter

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/svg"
)

func config(path string, change ...func(*Config)) *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Path = path
	cfg.Interval = 0
	for _, f := range change {
		f(cfg)
	}
	return cfg
}

// create makes an exporter through the factory, as the collector does.
func create(t testing.TB, cfg *Config) xexporter.Profiles {
	t.Helper()
	require.NoError(t, cfg.Validate())
	e, err := NewFactory().(xexporter.Factory).CreateProfiles(t.Context(), exportertest.NewNopSettings(metadata.Type), cfg)
	require.NoError(t, err)
	return e
}

// export sends profiles through a whole life of an exporter.
func export(t testing.TB, cfg *Config, profiles ...pprofile.Profiles) {
	t.Helper()
	e := create(t, cfg)
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	for _, p := range profiles {
		require.NoError(t, e.ConsumeProfiles(t.Context(), p))
	}
	require.NoError(t, e.Shutdown(t.Context()))
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// totals reads a file of each format and returns its total and its names.
func totals(t testing.TB, format string, data []byte) (total int64, deepest int) {
	t.Helper()
	switch format {
	case "folded":
		res, err := folded.Read(bytes.NewReader(data))
		require.NoError(t, err)
		require.Zero(t, res.BadLines)
		for _, d := range res.Graph.Depths() {
			deepest = max(deepest, int(d))
		}
		return res.Graph.Total(0), deepest
	case "pprof":
		p, err := profile.ParseData(data)
		require.NoError(t, err)
		require.NoError(t, p.CheckValid())
		for _, s := range p.Sample {
			total += s.Value[0]
			deepest = max(deepest, len(s.Location)+1) // the process is a label
		}
		return total, deepest
	case "speedscope":
		var f struct {
			Profiles []struct {
				EndValue int64
				Samples  [][]int
				Weights  []int64
			}
		}
		require.NoError(t, json.Unmarshal(data, &f))
		for i, w := range f.Profiles[0].Weights {
			total += w
			deepest = max(deepest, len(f.Profiles[0].Samples[i]))
		}
		require.Equal(t, f.Profiles[0].EndValue, total)
		return total, deepest
	}
	return svgTotals(t, data)
}

func svgTotals(t testing.TB, data []byte) (total int64, deepest int) {
	t.Helper()
	f, err := svg.Read(bytes.NewReader(data))
	require.NoError(t, err)
	for _, d := range f.Graph.Depths() {
		deepest = max(deepest, int(d))
	}
	return f.Graph.Total(0), deepest
}

// oneStack is a message with one stack of these functions, root first.
func oneStack(process string, value int64, functions ...string) pprofile.Profiles {
	return typed("samples", "count", "cpu", process, value, functions...)
}

func typed(sampleType, unit, period, process string, value int64, functions ...string) pprofile.Profiles {
	p := pprofile.NewProfiles()
	d := p.Dictionary()
	str := func(s string) int32 {
		d.StringTable().Append(s)
		return int32(d.StringTable().Len() - 1)
	}
	str("")
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	stack := d.StackTable().AppendEmpty()
	for i := len(functions) - 1; i >= 0; i-- {
		d.FunctionTable().AppendEmpty().SetNameStrindex(str(functions[i]))
		loc := d.LocationTable().AppendEmpty()
		loc.SetAddress(uint64(d.LocationTable().Len()))
		loc.Lines().AppendEmpty().SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
		stack.LocationIndices().Append(int32(d.LocationTable().Len() - 1))
	}
	rp := p.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("process.executable.name", process)
	rp.Resource().Attributes().PutStr("host.name", "host-a")
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(str(sampleType))
	prof.SampleType().SetUnitStrindex(str(unit))
	prof.PeriodType().SetTypeStrindex(str(period))
	prof.PeriodType().SetUnitStrindex(str("nanoseconds"))
	s := prof.Samples().AppendEmpty()
	s.SetStackIndex(1)
	s.Values().Append(value)
	return p
}

// names lists a folder.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

var fileNames = map[string]string{
	"svg": "p.svg", "folded": "p.folded", "pprof": "p.pb.gz", "speedscope": "p.speedscope.json",
}
