package receiver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

func TestFactory(t *testing.T) {
	f, ok := NewFactory().(xreceiver.Factory)
	require.True(t, ok)
	assert.Equal(t, component.MustNewType("ebpf_profiler"), f.Type())
	assert.Equal(t, component.StabilityLevelAlpha, f.ProfilesStability())
	assert.Equal(t, component.StabilityLevelDevelopment, f.MetricsStability())
	_, err := f.CreateLogs(context.Background(), nop, f.CreateDefaultConfig(), consumertest.NewNop())
	assert.Error(t, err)
}

// Windows follow each other without gap or overlap, the last one is delivered
// at shutdown, and nothing is lost between them.
func TestWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begin := time.Now()
		r.start(t)
		time.Sleep(25*time.Second + 500*time.Millisecond)
		r.shutdown(t)

		seen := r.next.seen()
		require.Len(t, seen, 3)
		assert.True(t, seen[0].start.Equal(begin))
		total := int64(0)
		for i, p := range seen {
			if i > 0 {
				assert.Equal(t, seen[i-1].end, p.start)
			}
			total += p.values
		}
		assert.Equal(t, 10*time.Second, seen[0].end.Sub(seen[0].start))
		assert.Equal(t, 10*time.Second, seen[1].end.Sub(seen[1].start))
		assert.Equal(t, 5*time.Second+500*time.Millisecond, seen[2].end.Sub(seen[2].start))
		assert.Equal(t, int64(26*10), total, "25 drains and one at shutdown")
	})
}

// The window need not be a multiple of the drain interval.
func TestWindowShorterThanTwoDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.cfg.Window, r.cfg.DrainInterval = 1500*time.Millisecond, time.Second
		r.start(t)
		time.Sleep(3100 * time.Millisecond)
		r.shutdown(t)
		seen := r.next.seen()
		require.Len(t, seen, 3)
		assert.Equal(t, 1500*time.Millisecond, seen[0].end.Sub(seen[0].start))
		assert.Equal(t, 1500*time.Millisecond, seen[1].end.Sub(seen[1].start))
	})
}

// A drain that takes longer than its interval, or than a window, delays the
// end of the window and nothing else.
func TestSlowDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.src.onDrain = func(n int) (drainStats, error) {
			if n == 3 {
				time.Sleep(25 * time.Second)
			}
			return drainStats{}, nil
		}
		r.start(t)
		time.Sleep(40 * time.Second)
		r.shutdown(t)
		seen := r.next.seen()
		require.Len(t, seen, 3)
		for i := range seen[1:] {
			assert.Equal(t, seen[i].end, seen[i+1].start)
		}
		assert.Equal(t, 28*time.Second, seen[0].end.Sub(seen[0].start))
		assert.Equal(t, 10*time.Second, seen[1].end.Sub(seen[1].start))
	})
}

// The source is released before the last window is sent.
func TestOrderOfShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var before []string
		r.next.react = func(context.Context, int) error { before = r.src.called(); return nil }
		r.start(t)
		synctest.Wait()
		r.shutdown(t)
		assert.Equal(t, []string{"start", "stop", "drain", "settle", "close"}, before)
		require.Len(t, r.next.seen(), 1)
		assert.Empty(t, r.host.statuses(), "the collector reports start and stop for us")
	})
}

func TestShutdownWithoutStartAndTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.shutdown(t)
		r.shutdown(t)
		assert.Empty(t, r.src.called())
		r.start(t)
		r.shutdown(t)
		r.shutdown(t)
		assert.Equal(t, []string{"start", "stop", "drain", "settle", "close"}, r.src.called())
	})
}

func TestStartTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t)
		assert.ErrorContains(t, r.Start(context.Background(), r.host), "already started")
		r.shutdown(t)
	})
}

func TestStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.src.startErr = errFake
		assert.ErrorIs(t, r.Start(context.Background(), r.host), errFake)
		r.shutdown(t)
		assert.Equal(t, []string{"start"}, r.src.called(), "a source undoes itself what it started")

		r.src.startErr = nil
		r.start(t)
		r.shutdown(t)
	})
	r, err := newReceiver(nop, createDefaultConfig().(*Config), consumertest.NewNop(), func(receiver.Settings, *Config) (pipelineSource, error) {
		return nil, errFake
	})
	require.NoError(t, err)
	assert.ErrorIs(t, r.Start(context.Background(), &fakeHost{}), errFake)
}

// The context of Start is not that of the run.
func TestStartContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.next.react = func(ctx context.Context, _ int) error { return ctx.Err() }
		ctx, cancel := context.WithCancel(context.Background())
		require.NoError(t, r.Start(ctx, r.host))
		cancel()
		time.Sleep(11 * time.Second)
		synctest.Wait()
		assert.Len(t, r.next.seen(), 1)
		r.shutdown(t)
	})
}

// A reload runs a new instance in the same process.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range 3 {
			r.profilesReceiver = r.make(t, r.set, r.next)
			r.start(t)
			time.Sleep(11 * time.Second)
			r.shutdown(t)
		}
		assert.Len(t, r.next.seen(), 6)
	})
}

// What is refused is dropped and counted; the status changes once.
func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.next.react = func(_ context.Context, n int) error {
			if n >= 2 && n <= 4 {
				return errFake
			}
			return nil
		}
		r.start(t)
		time.Sleep(65 * time.Second)
		synctest.Wait()
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, r.host.statuses())
		assert.ErrorIs(t, r.host.events[0].Err(), errFake)
		assert.Len(t, r.next.seen(), 3)
		assert.Equal(t, 1, r.logs.FilterMessage("The next component did not take the profiles.").Len())
		assertSum(t, r, "otelcol_ebpf_profiler_samples_undelivered", 300, map[string]string{"kind": "cpu", "cause": "refused"})
		r.shutdown(t)
	})
}

// A pipeline that hangs stops neither sampling nor memory from being bounded.
func TestBusyPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.next.react = func(_ context.Context, n int) error {
			if n == 1 {
				time.Sleep(45 * time.Second)
			}
			return nil
		}
		r.start(t)
		time.Sleep(54 * time.Second)
		synctest.Wait()
		assert.Equal(t, 54, r.src.count("drain"))
		assert.Equal(t, 5, r.src.count("settle"), "once for each window")
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, r.host.statuses())
		// The windows that ended at 30, 40 and 50 s found the queue full.
		assertSum(t, r, "otelcol_ebpf_profiler_samples_undelivered", 300, map[string]string{"kind": "cpu", "cause": "busy"})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, r.host.statuses())
		assert.Len(t, r.next.seen(), 3)
		r.shutdown(t)
	})
}

// Shutdown ends with its context, whether the pipeline heeds it or not, and the
// source is released.
func TestShutdownDeadline(t *testing.T) {
	for name, heed := range map[string]bool{"pipeline heeds the context": true, "pipeline hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				release := make(chan struct{})
				r.next.react = func(ctx context.Context, _ int) error {
					if heed {
						<-ctx.Done()
						return ctx.Err()
					}
					<-release
					return nil
				}
				r.start(t)
				time.Sleep(10500 * time.Millisecond) // between two drains
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				begin := time.Now()
				err := r.Shutdown(ctx)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.ErrorContains(t, err, "not delivered in time")
				assert.LessOrEqual(t, time.Since(begin), time.Second+grace)
				calls := r.src.called()
				assert.Equal(t, []string{"stop", "drain", "settle", "close"}, calls[len(calls)-4:])
				assert.NoError(t, r.Shutdown(context.Background()))
				close(release)
			})
		})
	}
}

// Errors of the source do not end the run.
func TestSourceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.src.onDrain = func(n int) (drainStats, error) {
			if n >= 3 && n <= 5 {
				return drainStats{}, errFake
			}
			return drainStats{}, nil
		}
		r.src.stopErr, r.src.closeErr = errors.New("stuck"), errors.New("busy")
		r.start(t)
		time.Sleep(11 * time.Second)
		r.shutdown(t)
		assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, r.host.statuses())
		assert.EqualError(t, r.host.events[0].Err(), "empty the kernel maps: no room")
		assert.Len(t, r.next.seen(), 2)
		for _, message := range []string{"Samples could not be read.", "Sampling was not stopped cleanly.", "Not everything was released."} {
			assert.Equal(t, 1, r.logs.FilterMessage(message).Len(), message)
		}
	})
}

// OK is reported only when both parts are well again.
func TestHealthOfTwoParts(t *testing.T) {
	h := &health{host: &fakeHost{}}
	host := h.host.(*fakeHost)
	assert.False(t, h.set(partSource, nil), "well from the start")
	assert.True(t, h.set(partSource, errFake))
	assert.False(t, h.set(partSource, errFake))
	assert.True(t, h.set(partDownstream, errFake))
	assert.True(t, h.set(partSource, nil))
	assert.Len(t, host.statuses(), 2)
	assert.True(t, h.set(partDownstream, nil))
	assert.Equal(t, []componentstatus.Status{
		componentstatus.StatusRecoverableError, componentstatus.StatusRecoverableError, componentstatus.StatusOK,
	}, host.statuses())
	h.mute()
	assert.True(t, h.set(partSource, errFake))
	assert.Len(t, host.statuses(), 3)
}

// Warnings come once, and again only after things were well.
func TestWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.src.onDrain = func(n int) (drainStats, error) {
			fill := 0.5
			if n > 2 && n != 7 {
				fill = 0.8
			}
			return drainStats{MapUsage: map[string]float64{"counts": fill}}, nil
		}
		r.start(t)
		time.Sleep(31 * time.Second)
		r.shutdown(t)
		full := r.logs.FilterMessageSnippet("A kernel map is nearly full.").All()
		require.Len(t, full, 2)
		assert.Equal(t, map[string]any{"map": "counts", "fill": 0.8, "advice": "Set map_entries higher."}, full[0].ContextMap())
		lost := r.logs.FilterMessage("Samples were lost.").All()
		require.Len(t, lost, 1)
		assert.Equal(t, uint64(10), lost[0].ContextMap()["lost"])
	})
}

func TestStartIsQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begin := time.Now()
		r.start(t)
		assert.Zero(t, time.Since(begin))
		r.shutdown(t)
		assert.Equal(t, 1, r.logs.FilterMessage("Profiling started.").Len())
		assert.Equal(t, 1, r.logs.FilterMessage("Profiling stopped.").Len())
	})
}

func TestCreateProfiles(t *testing.T) {
	f := NewFactory().(xreceiver.Factory)
	p, err := f.CreateProfiles(context.Background(), nop, f.CreateDefaultConfig(), consumertest.NewNop())
	require.NoError(t, err)
	assert.NoError(t, p.Shutdown(context.Background()))
	assert.Equal(t, metadata.Type, f.Type())
}
