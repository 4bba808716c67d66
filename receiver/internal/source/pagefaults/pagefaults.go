//go:build linux

// Package pagefaults is the profile kind that shows where programs touch memory
// for the first time, or memory that is not there any more.
package pagefaults

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// keyFault tells faults that waited for a disk from others.
const (
	keyFault = "flametel.page_fault.type"
	minor    = "minor"
	major    = "major"
)

// New returns a source that has not started.
func New(o bpf.PageFaultOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name:        "page_faults",
			SampleTypes: []source.ValueType{{Type: "faults", Unit: "count"}},
			Metrics: []source.Metric{
				{Metric: metadata.ProcessPagingFaults, Value: 0, Renamed: map[string]string{keyFault: "system.paging.fault.type"}},
			},
		},
		Probe:    bpf.PageFaults(o),
		Values:   values,
		Describe: describe,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 { return append(dst, int64(s.Count)) }

func describe(s *bpf.Sample) event.Description {
	which := minor
	if s.Detail&bpf.FaultMajor != 0 {
		which = major
	}
	return event.One("page_fault:"+which, source.Label{Key: keyFault, Text: which})
}
