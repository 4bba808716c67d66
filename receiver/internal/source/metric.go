package source

// Metric is what the samples of a kind become in metrics.
type Metric struct {
	Name, Unit, Description string
	// Seconds makes it a histogram of durations: Value is the index of the
	// number of events in what Source.Values returns, Time that of the
	// nanoseconds. Else it is a sum, and Time is not used; values of a sum in
	// seconds (Unit "s") are nanoseconds, too.
	Seconds     bool
	Value, Time int
	// Keys are the labels that become attributes, by the names that these have;
	// "" for the same name.
	Keys map[string]string
	// Needs is a label without which a sample does not count, "" for none.
	Needs string
}
