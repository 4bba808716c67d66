//go:build linux

// Package fileopens is the profile kind that shows which files programs open,
// and which they look for in vain.
package fileopens

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// New returns a source that has not started.
func New(o bpf.FileOpenOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name:        "file_opens",
			SampleTypes: []source.ValueType{{Type: "opens", Unit: "count"}, {Type: "open_time", Unit: "nanoseconds"}},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelFileOpenDuration, Value: 0, Time: 1},
			},
		},
		Probe:    bpf.FileOpens(o),
		Values:   values,
		Describe: event.DescribeFile,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(s.Count), int64(s.Sums[0]))
}
