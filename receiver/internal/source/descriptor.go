// Package source describes the kinds of profiles and lists them in one place.
// A kind is a package below this one and a Descriptor value; nothing else in
// the receiver asks which kind it is dealing with.
package source

// ValueType names what a number counts and in which unit, in the vocabulary of
// OTLP profiles, for instance {"samples", "count"}.
type ValueType struct {
	Type string
	Unit string
}

// Descriptor is what the window and the pdata builder need to know of a kind.
type Descriptor struct {
	// Name is the configuration key of the kind: "cpu".
	Name string
	// SampleTypes has one entry for each value of a sample, at least one. Each
	// becomes a Profile of its own.
	SampleTypes []ValueType
	// PeriodType and Period say how far apart samples are, {"cpu",
	// "nanoseconds"} and 1e9 / frequency for cpu. Empty and 0 for kinds that
	// count every event.
	PeriodType ValueType
	Period     int64
	// Estimated is the index of the sample type that Source.Estimate is about.
	Estimated int
	// Traced says that kernel stacks begin in the kernel's machinery of
	// tracing, which is left out.
	Traced bool
	// Metrics are what the samples become in metrics; none if they say nothing
	// there.
	Metrics []Metric
	// Frequency is how often each CPU is sampled, in hertz; 0 for kinds that
	// count every event.
	Frequency float64
}
