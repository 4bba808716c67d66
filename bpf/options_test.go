//go:build linux

package bpf

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsBounds(t *testing.T) {
	good := Options{Frequency: 99, DrainInterval: time.Second}
	require.NoError(t, good.validate())
	for name, change := range map[string]func(*Options){
		"frequency 0 Hz":       func(o *Options) { o.Frequency = 0 },
		"frequency -1 Hz":      func(o *Options) { o.Frequency = -1 },
		"frequency 100000 Hz":  func(o *Options) { o.Frequency = 100000 },
		"drain interval 0s":    func(o *Options) { o.DrainInterval = 0 },
		"map entries -1":       func(o *Options) { o.MapEntries = -1 },
		"map entries 16777216": func(o *Options) { o.MapEntries = 1 << 24 },
	} {
		o := good
		change(&o)
		require.ErrorContains(t, o.validate(), name)
	}
}

// One drain interval of samples that all differ fits twice.
func TestMapEntriesHoldADrainInterval(t *testing.T) {
	for _, o := range []Options{
		{Frequency: 99, DrainInterval: time.Second},
		{Frequency: 9999, DrainInterval: time.Second},
		{Frequency: 999, DrainInterval: 10 * time.Second},
	} {
		n := o.mapEntries()
		require.Zero(t, n&(n-1), "a power of two")
		samples := float64(o.Frequency) * o.DrainInterval.Seconds() * float64(runtime.NumCPU())
		require.GreaterOrEqual(t, float64(n), min(2*samples, maxMapEntries))
	}
	require.EqualValues(t, 77, (&Options{MapEntries: 77}).mapEntries())
}

// There is room for what is expected of the interval, and for each CPU.
func TestEventEntries(t *testing.T) {
	require.Equal(t, 8192, eventEntries(8192, time.Second, 2))
	require.Equal(t, 32768, eventEntries(8192, time.Second, 64))
	require.Equal(t, minMapEntries, eventEntries(8192, 10*time.Millisecond, 2))
	require.Equal(t, maxMapEntries, eventEntries(8192, time.Hour, 2))
}
