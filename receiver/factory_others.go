//go:build !linux

package receiver

import (
	"context"
	"fmt"
	"runtime"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

func (*sharing) createProfiles(context.Context, receiver.Settings, component.Config, xconsumer.Profiles) (xreceiver.Profiles, error) {
	return nil, errSystem()
}

func (*sharing) createMetrics(context.Context, receiver.Settings, component.Config, consumer.Metrics) (receiver.Metrics, error) {
	return nil, errSystem()
}

func errSystem() error {
	return fmt.Errorf("receiver %s needs Linux, this is %s", metadata.Type, runtime.GOOS)
}
