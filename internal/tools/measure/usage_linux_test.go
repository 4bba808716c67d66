package measure

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWatchSeesThisProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan Usage, 1)
	go func() {
		usage, err := Watch(ctx, os.Getpid())
		assert.NoError(t, err)
		result <- usage
	}()
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	for now := before; now < before+200*time.Millisecond; {
		now, err = CPU(os.Getpid()) // is work by itself
		require.NoError(t, err)
	}
	cancel()
	usage := <-result
	assert.GreaterOrEqual(t, usage.CPU, 100*time.Millisecond)
	assert.Greater(t, usage.MeanBytes, int64(1<<20))
	assert.GreaterOrEqual(t, usage.MaxBytes, usage.MeanBytes)
	assert.Positive(t, usage.CPUPercent())
}

func TestMissingProcessIsAnError(t *testing.T) {
	t.Parallel()
	_, err := CPU(1 << 22) // above every process ID
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Resident(1 << 22)
	assert.ErrorIs(t, err, os.ErrNotExist)
}
