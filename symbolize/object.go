package symbolize

// Object is a file (or the vDSO, or anonymous memory) that code is mapped
// from, pinned when the mapping appeared.
type Object struct {
	path string
}
