package exporter

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/flametel/flametel/exporter/internal/metadatatest"
)

func TestFilesAreCounted(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.WithoutCancel(t.Context()))) })
	path := filepath.Join(t.TempDir(), "p.folded")
	e, err := newFileExporter(config(path), metadatatest.NewSettings(tel))
	require.NoError(t, err)
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.consume(t.Context(), oneStack("app", 2, "main")))
	require.NoError(t, e.write(periodic))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.EqualError(t, e.shutdown(t.Context()), "write "+path+": it is a folder, not a regular file; choose another path; samples lost: 2")

	one := []metricdata.DataPoint[int64]{{Value: 1}}
	metadatatest.AssertEqualFlamegraphFilesWritten(t, tel, one, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualFlamegraphFilesFailed(t, tel, one, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualFlamegraphSamplesLost(t, tel, []metricdata.DataPoint[int64]{{Value: 2}}, metricdatatest.IgnoreTimestamp())
	m, err := tel.GetMetric("otelcol_flamegraph_write_duration")
	require.NoError(t, err)
	assert.Equal(t, uint64(1), m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
}

// A file that is rewritten holds the samples of a write that failed.
func TestOnlySamplesThatNoLaterFileHoldsAreLost(t *testing.T) {
	for name, test := range map[string]struct {
		interval time.Duration
		lost     int64
	}{
		"rewritten": {0, 0}, "one file for each interval": {time.Hour, 5},
	} {
		t.Run(name, func(t *testing.T) {
			tel := componenttest.NewTelemetry()
			t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.WithoutCancel(t.Context()))) })
			path := filepath.Join(t.TempDir(), "p.folded")
			e, err := newFileExporter(config(path, func(c *Config) { c.Interval = test.interval }), metadatatest.NewSettings(tel))
			require.NoError(t, err)
			require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
			require.NoError(t, os.Mkdir(path, 0o700))
			require.NoError(t, e.consume(t.Context(), oneStack("app", 5, "main")))
			require.Error(t, e.write(periodic))
			require.NoError(t, os.Remove(path))
			require.NoError(t, e.consume(t.Context(), oneStack("app", 2, "main")))
			require.NoError(t, e.shutdown(t.Context()))
			total, _ := totals(t, "folded", read(t, path))
			assert.Equal(t, 7-test.lost, total)
			if test.lost == 0 {
				_, err := tel.GetMetric("otelcol_flamegraph_samples_lost")
				assert.Error(t, err, "never counted")
				return
			}
			metadatatest.AssertEqualFlamegraphSamplesLost(t, tel, []metricdata.DataPoint[int64]{{Value: test.lost}}, metricdatatest.IgnoreTimestamp())
		})
	}
}
