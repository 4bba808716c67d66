package source

// Label is an attribute of a sample, besides those of its thread.
type Label struct {
	Key string
	// Text is the value, unless it is a number.
	Text   string
	Number int64
	// IsNumber tells which of the two it is.
	IsNumber bool
}

// Labels are attributes in a fixed order. Sources make one value for equal ones
// and hand out its address, by which they are compared.
type Labels []Label
