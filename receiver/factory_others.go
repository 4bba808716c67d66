//go:build !linux

package receiver

import (
	"context"
	"fmt"
	"runtime"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

func createProfiles(context.Context, receiver.Settings, component.Config, xconsumer.Profiles) (xreceiver.Profiles, error) {
	return nil, fmt.Errorf("receiver %s needs Linux, this is %s", metadata.Type, runtime.GOOS)
}
