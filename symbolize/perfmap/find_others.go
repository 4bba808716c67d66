//go:build !linux

package perfmap

import "os"

// File is an opened perf map.
type File struct {
	*os.File
	ID   ID
	Size int64
}

// Place is where the map of a process is.
type Place struct{}

// Find finds nothing: perf maps are found through Linux's procfs.
func Find(string, int, uint64) (*File, error) { return nil, ErrNone }

// Locate finds nothing either.
func Locate(string, int, uint64) (*Place, error) { return nil, ErrNone }

// IsOf is false.
func (*Place) IsOf(uint64) bool { return false }

// Open opens nothing.
func (*Place) Open() (*File, error) { return nil, ErrNone }

// Close releases nothing.
func (*Place) Close() {}
