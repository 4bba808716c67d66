//go:build integration && linux

package receiver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

// Both pipelines, on a program that does a known number of things.
func TestMetricsOfAProgram(t *testing.T) {
	caller, call := worker(t, "calls")
	sleeper, sleep := worker(t, "sleeps", "20", "3000")
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Window, cfg.DrainInterval = time.Second, 200*time.Millisecond
	cfg.Targets.PIDs = []int{caller, sleeper}
	cfg.CPU.Enabled = false
	cfg.Syscalls.GetOrInsertDefault()
	cfg.OffCPU.GetOrInsertDefault()
	numbers, pictures := new(consumertest.MetricsSink), new(consumertest.ProfilesSink)
	profiles, err := f.CreateProfiles(context.Background(), nop, cfg, pictures)
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(context.Background(), nop, cfg, numbers)
	require.NoError(t, err)
	require.NoError(t, profiles.Start(context.Background(), componenttest.NewNopHost()))
	require.NoError(t, metrics.Start(context.Background(), componenttest.NewNopHost()))
	call()
	sleep()
	require.NoError(t, metrics.Shutdown(context.Background()))
	require.NoError(t, profiles.Shutdown(context.Background()))
	assert.NotEmpty(t, pictures.AllProfiles())
	all := numbers.AllMetrics()
	require.NotEmpty(t, all)
	last := all[len(all)-1]

	stats := point(t, last, caller, "flametel.syscall.duration", "flametel.syscall", "newfstatat")
	assert.EqualValues(t, 10000, stats.Count())
	var inBuckets uint64
	for _, n := range stats.BucketCounts().AsRaw() {
		inBuckets += n
	}
	assert.EqualValues(t, 10000, inBuckets)
	assert.Positive(t, stats.Sum())

	naps := point(t, last, sleeper, "flametel.syscall.duration", "flametel.syscall", "clock_nanosleep")
	assert.EqualValues(t, 20, naps.Count())
	assert.GreaterOrEqual(t, naps.Sum(), 0.06)
	waits := point(t, last, sleeper, "flametel.off_cpu.duration", "flametel.off_cpu.reason", "blocked")
	assert.GreaterOrEqual(t, waits.Count(), uint64(20))
	assert.GreaterOrEqual(t, waits.Sum(), 0.06)
}

// point returns a point of a histogram of a process.
func point(t *testing.T, md pmetric.Metrics, pid int, name, key, value string) pmetric.HistogramDataPoint {
	t.Helper()
	for _, rm := range md.ResourceMetrics().All() {
		if v, ok := rm.Resource().Attributes().Get("process.pid"); !ok || v.Int() != int64(pid) {
			continue
		}
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			if m.Name() != name {
				continue
			}
			for _, p := range m.Histogram().DataPoints().All() {
				if v, ok := p.Attributes().Get(key); ok && v.Str() == value {
					return p
				}
			}
		}
	}
	t.Fatalf("process %d has no %s with %s = %s", pid, name, key, value)
	return pmetric.HistogramDataPoint{}
}
