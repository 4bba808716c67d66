package receiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

func (s *sharing) createProfiles(_ context.Context, set receiver.Settings, cfg component.Config, next xconsumer.Profiles) (xreceiver.Profiles, error) {
	r, err := s.get(set, cfg.(*Config), newPipelineSource)
	if err != nil {
		return nil, err
	}
	r.next = next
	return r, nil
}

func (s *sharing) createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	r, err := s.get(set, cfg.(*Config), newPipelineSource)
	if err != nil {
		return nil, err
	}
	r.nextMetrics = next
	return r, nil
}
