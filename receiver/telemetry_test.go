package receiver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

// assertSum checks the data point of a counter with exactly these attributes.
func assertSum(t *testing.T, r *rig, name string, want int64, attrs map[string]string) {
	t.Helper()
	var kvs []attribute.KeyValue
	for k, v := range attrs {
		kvs = append(kvs, attribute.String(k, v))
	}
	set := attribute.NewSet(kvs...)
	m, err := r.telemetry.GetMetric(name)
	require.NoError(t, err)
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		if p.Attributes.Equals(&set) {
			assert.Equal(t, want, p.Value, "%s%v", name, attrs)
			return
		}
	}
	t.Errorf("%s has no data point with %v", name, attrs)
}

// The metrics add up: taken = kept + idle + filtered + lost.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		usage := []float64{0.1, 0.7, 0.2}
		r.src.onDrain = func(n int) (drainStats, error) {
			time.Sleep(20 * time.Millisecond)
			return drainStats{Processes: 4 + n, EventsLost: 2, MapUsage: map[string]float64{"counts": usage[n-1]}}, nil
		}
		r.cfg.Window = 3 * time.Second
		r.start(t)
		time.Sleep(2500 * time.Millisecond)
		r.shutdown(t)

		kind := map[string]string{"kind": "cpu"}
		assertSum(t, r, "otelcol_ebpf_profiler_samples_taken", 48, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_samples_kept", 30, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_samples_idle", 9, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_samples_filtered", 6, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_samples_missed", 12, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_samples_lost", 3, map[string]string{"kind": "cpu", "cause": "counts_full"})
		assertSum(t, r, "otelcol_ebpf_profiler_stacks_truncated", 0, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_frames_named", 30, kind)
		assertSum(t, r, "otelcol_ebpf_profiler_events_lost", 6, nil)
		assertSum(t, r, "otelcol_receiver_accepted_profile_samples", 1, map[string]string{"receiver": metadata.Type.String(), "transport": "ebpf"})

		processes, err := r.telemetry.GetMetric("otelcol_ebpf_profiler_processes_tracked")
		require.NoError(t, err)
		assert.Equal(t, int64(7), processes.Data.(metricdata.Gauge[int64]).DataPoints[0].Value)
		maps, err := r.telemetry.GetMetric("otelcol_ebpf_profiler_map_usage")
		require.NoError(t, err)
		assert.InDelta(t, 0.7, maps.Data.(metricdata.Gauge[float64]).DataPoints[0].Value, 0)
		drains, err := r.telemetry.GetMetric("otelcol_ebpf_profiler_drain_duration")
		require.NoError(t, err)
		point := drains.Data.(metricdata.Histogram[float64]).DataPoints[0]
		assert.Equal(t, uint64(3), point.Count)
		assert.InDelta(t, 0.06, point.Sum, 1e-9)
		windows, err := r.telemetry.GetMetric("otelcol_ebpf_profiler_window_duration")
		require.NoError(t, err)
		assert.Equal(t, uint64(1), windows.Data.(metricdata.Histogram[float64]).DataPoints[0].Count)
	})
}
