package record

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
)

// endless names samples until it is told to give up.
type endless struct {
	component.Component
	asked chan struct{}
}

func (e *endless) Shutdown(ctx context.Context) error {
	close(e.asked)
	<-ctx.Done()
	return errors.New("gave up")
}

func TestASignalCutsTheNamingOfSamplesShort(t *testing.T) {
	receiver := &endless{asked: make(chan struct{})}
	r := &recording{
		signals:  &signals{first: make(chan os.Signal, 1)},
		pipeline: &pipeline{receiver: receiver},
	}
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	<-receiver.asked
	select {
	case err := <-stopped:
		t.Fatal("did not wait: ", err)
	default:
	}
	r.signals.first <- syscall.SIGINT
	require.EqualError(t, <-stopped, "end of sampling: gave up")
}
