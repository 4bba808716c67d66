package metadata

// Metric is a metric as metadata.yaml declares it. All are cumulative; those that
// are no histograms are monotonic sums.
type Metric struct {
	Name, Unit, Description string
	// Histogram tells histograms of seconds from sums.
	Histogram bool
	// Double says that the values of a sum are fractions.
	Double bool
	// Attributes are the keys that points may have.
	Attributes []string
}
