//go:build linux

// Package filereads is the profile kind that shows which files programs read,
// how much and how long it takes.
package filereads

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// New returns a source that has not started.
func New(o bpf.FileReadOptions, opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name: "file_reads",
			SampleTypes: []source.ValueType{
				{Type: "reads", Unit: "count"}, {Type: "read_time", Unit: "nanoseconds"}, {Type: "read_bytes", Unit: "bytes"},
			},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelFileReadDuration, Value: 0, Time: 1},
				{Metric: metadata.FlametelFileReadIo, Value: 2},
			},
		},
		Probe:    bpf.FileReads(o),
		Values:   values,
		Describe: event.DescribeFile,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 {
	return append(dst, int64(s.Count), int64(s.Sums[0]), int64(s.Sums[1]))
}
