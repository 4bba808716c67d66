package exporter

import (
	"context"
	"os"
	"path/filepath"
	"testing"

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
	require.NoError(t, e.write(false))
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	require.Error(t, e.shutdown(t.Context()))

	one := []metricdata.DataPoint[int64]{{Value: 1}}
	metadatatest.AssertEqualFlamegraphFilesWritten(t, tel, one, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualFlamegraphFilesFailed(t, tel, one, metricdatatest.IgnoreTimestamp())
	m, err := tel.GetMetric("otelcol_flamegraph_write_duration")
	require.NoError(t, err)
	assert.Equal(t, uint64(1), m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
}
