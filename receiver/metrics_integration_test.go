//go:build integration && linux

package receiver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

// Both pipelines, on programs that do a known number of things: everything that
// is sent is declared in metadata.yaml, and everything declared is sent.
func TestMetricsOfPrograms(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o600))
	require.NoError(t, os.WriteFile(data, make([]byte, 1<<20), 0o600))
	caller, call := worker(t, "calls")
	sleeper, sleep := worker(t, "sleeps", "20", "3000")
	opener, open := worker(t, "opens", dir)
	reader, read := worker(t, "reads", data)
	toucher, touch := worker(t, "faults")
	locker, lock := worker(t, "locks")
	allocator, allocate := worker(t, "allocs")
	sender, send := worker(t, "retransmits", "4")
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Window, cfg.DrainInterval = time.Second, 200*time.Millisecond
	cfg.Targets.PIDs = []int{caller, sleeper, opener, reader, toucher, locker, allocator, sender}
	cfg.CPU.Enabled = false
	cfg.Syscalls.GetOrInsertDefault()
	cfg.OffCPU.GetOrInsertDefault()
	cfg.FileOpens.GetOrInsertDefault()
	cfg.FileReads.GetOrInsertDefault()
	cfg.PageFaults.GetOrInsertDefault()
	cfg.LockContention.GetOrInsertDefault()
	cfg.KernelAllocations.GetOrInsertDefault()
	cfg.TCPRetransmits.GetOrInsertDefault()
	numbers, pictures := new(consumertest.MetricsSink), new(consumertest.ProfilesSink)
	profiles, err := f.CreateProfiles(context.Background(), nop, cfg, pictures)
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(context.Background(), nop, cfg, numbers)
	require.NoError(t, err)
	begin := time.Now()
	require.NoError(t, profiles.Start(context.Background(), componenttest.NewNopHost()))
	require.NoError(t, metrics.Start(context.Background(), componenttest.NewNopHost()))
	for _, work := range []func(){call, sleep, open, read, touch, lock, allocate, send} {
		work()
	}
	require.NoError(t, metrics.Shutdown(context.Background()))
	require.NoError(t, profiles.Shutdown(context.Background()))
	assert.NotEmpty(t, pictures.AllProfiles())
	all := numbers.AllMetrics()
	require.NotEmpty(t, all)
	last := all[len(all)-1]
	requireDeclared(t, last, begin)

	stats := histogram(t, last, caller, "flametel.syscall.duration", "flametel.syscall", "newfstatat")
	assert.EqualValues(t, 10000, stats.Count())
	var inBuckets uint64
	for _, n := range stats.BucketCounts().AsRaw() {
		inBuckets += n
	}
	assert.EqualValues(t, 10000, inBuckets)
	assert.Positive(t, stats.Sum())
	assert.EqualValues(t, 1000, sumOf(t, last, caller, "flametel.syscall.errors", "flametel.syscall", "newfstatat"))

	naps := histogram(t, last, sleeper, "flametel.syscall.duration", "flametel.syscall", "clock_nanosleep")
	assert.EqualValues(t, 20, naps.Count())
	assert.GreaterOrEqual(t, naps.Sum(), 0.06)
	waits := histogram(t, last, sleeper, "flametel.off_cpu.duration", "flametel.off_cpu.reason", "blocked")
	assert.GreaterOrEqual(t, waits.Count(), uint64(20))
	assert.GreaterOrEqual(t, waits.Sum(), 0.06)

	assert.EqualValues(t, 3*1428+2, histogram(t, last, opener, "flametel.file.open.duration", "error.type", "ENOENT").Count())
	assert.EqualValues(t, 1, histogram(t, last, reader, "flametel.file.read.duration", "error.type", "EFAULT").Count())
	assert.EqualValues(t, 5000+300*4096+350*4000+10*4096, sumOf(t, last, reader, "flametel.file.read.io", "", ""))
	assert.GreaterOrEqual(t, sumOf(t, last, toucher, "process.paging.faults", "system.paging.fault.type", "minor"), 3100.0)
	assert.InDelta(t, 300, sumOf(t, last, locker, "flametel.lock.waits", "flametel.lock.type", "futex wait"), 15)
	assert.Positive(t, sumOf(t, last, locker, "flametel.lock.wait.time", "flametel.lock.type", "futex wait"))
	assert.GreaterOrEqual(t, sumOf(t, last, allocator, "flametel.kernel.allocations", "flametel.allocator", "kmalloc"), 1000.0)
	assert.GreaterOrEqual(t, sumOf(t, last, allocator, "flametel.kernel.allocated", "flametel.allocator", "kmalloc"), 1000*16384.0)
	assert.GreaterOrEqual(t, sumOf(t, last, sender, "flametel.tcp.retransmits", "network.peer.address", "127.0.0.1"), 3.0)
}

// requireDeclared compares metrics with what metadata.yaml says of each.
func requireDeclared(t *testing.T, md pmetric.Metrics, begin time.Time) {
	t.Helper()
	d := declared(t)
	sent := map[string]bool{}
	for _, rm := range md.ResourceMetrics().All() {
		scope := rm.ScopeMetrics().At(0)
		assert.Equal(t, metadata.ScopeName, scope.Scope().Name())
		for _, m := range scope.Metrics().All() {
			want, ok := d.Metrics[m.Name()]
			require.True(t, ok, "%s is not declared", m.Name())
			sent[m.Name()] = true
			assert.Equal(t, want.Unit, m.Unit(), m.Name())
			assert.Equal(t, want.Description, m.Description(), m.Name())
			check := func(attributes pcommon.Map, start, end pcommon.Timestamp) {
				for key, value := range attributes.All() {
					require.Contains(t, want.Attributes, key, m.Name())
					a := d.Attributes[key]
					assert.Equal(t, map[string]pcommon.ValueType{"string": pcommon.ValueTypeStr, "int": pcommon.ValueTypeInt, "bool": pcommon.ValueTypeBool}[a.Type], value.Type(), key)
					if a.Enum != nil {
						assert.Contains(t, a.Enum, value.Str(), key)
					}
				}
				assert.True(t, start.AsTime().After(begin) && start < end, "%s from %v to %v", m.Name(), start, end)
			}
			switch m.Type() {
			case pmetric.MetricTypeHistogram:
				require.NotNil(t, want.Histogram, m.Name())
				assert.Equal(t, pmetric.AggregationTemporalityCumulative, m.Histogram().AggregationTemporality())
				for _, p := range m.Histogram().DataPoints().All() {
					check(p.Attributes(), p.StartTimestamp(), p.Timestamp())
					assert.Zero(t, p.Exemplars().Len())
				}
			default:
				require.NotNil(t, want.Sum, m.Name())
				assert.True(t, m.Sum().IsMonotonic(), m.Name())
				assert.Equal(t, pmetric.AggregationTemporalityCumulative, m.Sum().AggregationTemporality())
				for _, p := range m.Sum().DataPoints().All() {
					check(p.Attributes(), p.StartTimestamp(), p.Timestamp())
					assert.Zero(t, p.Exemplars().Len())
					assert.Equal(t, want.Sum.ValueType == "double", p.ValueType() == pmetric.NumberDataPointValueTypeDouble, m.Name())
				}
			}
		}
	}
	for name := range d.Metrics {
		assert.True(t, sent[name], "%s is declared and was not sent", name)
	}
}

// metricOf returns a metric of a process.
func metricOf(t *testing.T, md pmetric.Metrics, pid int, name string) pmetric.Metric {
	t.Helper()
	for _, rm := range md.ResourceMetrics().All() {
		if v, ok := rm.Resource().Attributes().Get("process.pid"); !ok || v.Int() != int64(pid) {
			continue
		}
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			if m.Name() == name {
				return m
			}
		}
	}
	t.Fatalf("process %d has no %s", pid, name)
	return pmetric.Metric{}
}

// histogram returns the point of a histogram of a process with an attribute.
func histogram(t *testing.T, md pmetric.Metrics, pid int, name, key, value string) pmetric.HistogramDataPoint {
	t.Helper()
	for _, p := range metricOf(t, md, pid, name).Histogram().DataPoints().All() {
		if v, ok := p.Attributes().Get(key); ok && v.Str() == value {
			return p
		}
	}
	t.Fatalf("process %d has no %s with %s = %s", pid, name, key, value)
	return pmetric.HistogramDataPoint{}
}

// sumOf adds up the points of a sum of a process with an attribute, or all.
func sumOf(t *testing.T, md pmetric.Metrics, pid int, name, key, value string) (sum float64) {
	t.Helper()
	for _, p := range metricOf(t, md, pid, name).Sum().DataPoints().All() {
		if v, ok := p.Attributes().Get(key); key == "" || ok && v.Str() == value {
			sum += float64(p.IntValue()) + p.DoubleValue()
		}
	}
	return sum
}
