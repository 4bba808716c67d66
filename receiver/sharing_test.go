package receiver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/metrics"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
)

// measuredSource is a fakeSource that gives its samples to metrics, too.
type measuredSource struct {
	*fakeSource
	to *metrics.Aggregator
}

var measuredKind = &source.Descriptor{Name: "faults", Metrics: []source.Metric{{Metric: metadata.ProcessPagingFaults}}}

func (s *measuredSource) measure(to *metrics.Aggregator) { s.to = to }

func (s *measuredSource) Drain(ctx context.Context, w *window.Window) (drainStats, error) {
	if s.to != nil {
		s.to.Drained(time.Now(), time.Now())
		s.to.Add(fakeProcess, measuredKind, nil, []int64{5}, 5, 0)
	}
	return s.fakeSource.Drain(ctx, w)
}

// shared returns what a factory makes for two pipelines of one configuration.
func shared(t *testing.T, r *rig, cfg *Config) (s *sharing, first, second *sharedReceiver) {
	t.Helper()
	s = newSharing()
	newSource := func(receiver.Settings, *Config) (pipelineSource, error) {
		return &measuredSource{fakeSource: r.src}, nil
	}
	first, err := s.get(r.set, cfg, newSource)
	require.NoError(t, err)
	second, err = s.get(r.set, cfg, newSource)
	require.NoError(t, err)
	return s, first, second
}

func TestPipelinesShareAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		cfg := createDefaultConfig().(*Config)
		s, first, second := shared(t, r, cfg)
		require.Same(t, first, second)
		other, err := s.get(r.set, createDefaultConfig().(*Config), nil)
		require.NoError(t, err)
		require.NotSame(t, first, other)

		sink := new(consumertest.MetricsSink)
		first.next, second.nextMetrics = r.next, sink
		hosts := []*fakeHost{{Host: r.host.Host}, {Host: r.host.Host}}
		require.NoError(t, first.Start(context.Background(), hosts[0]))
		require.NoError(t, second.Start(context.Background(), hosts[1]))
		time.Sleep(25 * time.Second)
		require.NoError(t, second.Shutdown(context.Background()))
		require.NoError(t, first.Shutdown(context.Background()))

		assert.Equal(t, 1, r.src.count("start"))
		assert.Equal(t, 1, r.src.count("close"))
		assert.Len(t, r.next.seen(), 3)
		all := sink.AllMetrics()
		require.Len(t, all, 3, "one message for each window, the last one at shutdown")
		last := all[2].ResourceMetrics()
		require.Equal(t, 2, last.Len())
		process := last.At(1)
		pid, _ := process.Resource().Attributes().Get("process.pid")
		assert.EqualValues(t, 42, pid.Int())
		sum := process.ScopeMetrics().At(0).Metrics().At(0).Sum()
		assert.EqualValues(t, 5*r.src.count("drain"), sum.DataPoints().At(0).IntValue())
		again, err := s.get(r.set, cfg, nil)
		require.NoError(t, err)
		assert.NotSame(t, first, again, "a receiver that has ended is not used again")
	})
}

func TestMetricsWithoutProfiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, shared, _ := shared(t, r, createDefaultConfig().(*Config))
		sink := new(consumertest.MetricsSink)
		shared.nextMetrics = sink
		require.NoError(t, shared.Start(context.Background(), r.host))
		time.Sleep(15 * time.Second)
		require.NoError(t, shared.Shutdown(context.Background()))
		assert.Len(t, sink.AllMetrics(), 2)
		assert.Empty(t, r.next.seen())
	})
}

func TestAllPipelinesLearnOfTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		_, first, second := shared(t, r, createDefaultConfig().(*Config))
		first.next, second.nextMetrics = r.next, consumertest.NewErr(errors.New("full"))
		hosts := []*fakeHost{{Host: r.host.Host}, {Host: r.host.Host}}
		require.NoError(t, first.Start(context.Background(), hosts[0]))
		require.NoError(t, second.Start(context.Background(), hosts[1]))
		time.Sleep(25 * time.Second)
		for _, h := range hosts {
			assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, h.statuses())
		}
		require.NoError(t, first.Shutdown(context.Background()))
		require.NoError(t, second.Shutdown(context.Background()))
	})
}

func TestAFailedStartFailsForAll(t *testing.T) {
	r := newRig(t)
	r.src.startErr = errFake
	_, first, second := shared(t, r, createDefaultConfig().(*Config))
	assert.ErrorIs(t, first.Start(context.Background(), r.host), errFake)
	assert.ErrorIs(t, second.Start(context.Background(), r.host), errFake)
	assert.NoError(t, first.Shutdown(context.Background()))
}
