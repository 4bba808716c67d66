package measure

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a context that says when somebody waits for its end.
type asked struct {
	context.Context
	tell func()
}

func (a asked) Done() <-chan struct{} {
	a.tell()
	return a.Context.Done()
}

func TestWatchSeesThisProcess(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	result := make(chan Usage, 1)
	go func() {
		usage, err := Watch(asked{ctx, sync.OnceFunc(func() { close(waits) })}, os.Getpid())
		assert.NoError(t, err)
		result <- usage
	}()
	<-waits
	before, err := CPU(os.Getpid())
	require.NoError(t, err)
	for now := before; now < before+200*time.Millisecond; {
		now, err = CPU(os.Getpid()) // is work by itself
		require.NoError(t, err)
	}
	cancel()
	usage := <-result
	assert.GreaterOrEqual(t, usage.CPU, 200*time.Millisecond)
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
