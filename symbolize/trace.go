package symbolize

// Attempt is a place where symbols were looked for.
type Attempt struct {
	// Source is "file", "symbols", "go", "dwarf", "gnu_debugdata", "build_id",
	// "debug_link", "debug_file", "debuginfod", "dwz", "unwind" or "perf_map".
	Source string
	// Result says what was found; Err why nothing was, nil if something was.
	Result string
	Err    error
}

// trace collects attempts; a nil one collects nothing.
type trace struct{ attempts []Attempt }

func (t *trace) found(source, result string) {
	if t != nil {
		t.attempts = append(t.attempts, Attempt{Source: source, Result: result})
	}
}

func (t *trace) failed(source string, err error) {
	if t != nil {
		t.attempts = append(t.attempts, Attempt{Source: source, Err: err})
	}
}
