package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/featuregate"
)

// profilesGate is the collector's own switch for the profiles signal, off by default while the
// signal is alpha.
const profilesGate = "service.profilesSupport"

// A profiler is all this distribution is for, so it must run without a flag. The gate is set before
// the command line is read: --feature-gates=-service.profilesSupport still switches it off.
func init() {
	if err := featuregate.GlobalRegistry().Set(profilesGate, true); err != nil {
		fmt.Fprintf(os.Stderr, "otelcol: feature gate %s: %v; profiles pipelines will be refused\n", profilesGate, err)
	}
}
