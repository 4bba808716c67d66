package source

import "github.com/flametel/flametel/receiver/internal/metadata"

// Metric is what the samples of a kind become in metrics.
type Metric struct {
	// Metric is the declaration in metadata.yaml. Labels of samples that have the
	// key of one of its attributes become that attribute.
	*metadata.Metric
	// Value is the index of what is counted in what Source.Values returns. Values of
	// a sum in seconds are nanoseconds.
	Value int
	// Time is the index of the nanoseconds of what Value counts, of a histogram.
	Time int
	// Renamed are the attributes that labels of another key become, by that key.
	Renamed map[string]string
	// Needs is a label without which a sample does not count, "" for none.
	Needs string
}
