package main

import (
	"maps"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

func TestProfilesGateIsOpen(t *testing.T) {
	var gate *featuregate.Gate
	featuregate.GlobalRegistry().VisitAll(func(g *featuregate.Gate) {
		if g.ID() == profilesGate {
			gate = g
		}
	})
	if gate == nil {
		t.Fatalf("the collector has no gate %s any more: profiles_gate.go can go", profilesGate)
	}
	if !gate.IsEnabled() {
		t.Fatalf("%s is off: no profiles pipeline would start", profilesGate)
	}
}

func TestDistributionHasItsComponents(t *testing.T) {
	factories, err := components()
	if err != nil {
		t.Fatal(err)
	}
	check := func(kind string, got []component.Type, want ...string) {
		for _, name := range want {
			if !slices.Contains(got, component.MustNewType(name)) {
				t.Errorf("no %s %s in %v", kind, name, got)
			}
		}
	}
	check("receiver", slices.Collect(maps.Keys(factories.Receivers)), "ebpf_profiler", "otlp", "nop")
	check("processor", slices.Collect(maps.Keys(factories.Processors)), "memory_limiter", "resource")
	check("exporter", slices.Collect(maps.Keys(factories.Exporters)), "flamegraph", "otlp_grpc", "otlp_http", "debug", "prometheus", "nop")
	check("connector", slices.Collect(maps.Keys(factories.Connectors)), "forward")
	check("extension", slices.Collect(maps.Keys(factories.Extensions)), "zpages", "health_check", "pprof")

	if _, ok := factories.Receivers[component.MustNewType("ebpf_profiler")].(xreceiver.Factory); !ok {
		t.Error("ebpf_profiler makes no profiles")
	}
}
