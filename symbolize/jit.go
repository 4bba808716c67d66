package symbolize

// jitState is what is known of a process's run-time generated code. Only the
// Symbolizer touches it, under its lock.
type jitState struct{}
