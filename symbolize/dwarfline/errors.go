package dwarfline

import "errors"

var (
	// ErrFormat is wrapped by each error that the contents of a file cause.
	ErrFormat = errors.New("damaged debug information")
	// ErrTooBig is wrapped if what would have to be read is beyond a limit.
	ErrTooBig = errors.New("too much debug information")
	// ErrSplit is wrapped if the functions of a unit are in a .dwo or .dwp file.
	ErrSplit = errors.New("functions are in a .dwo file, which is not read")
	// ErrSupplement is wrapped if what is needed lies in a supplementary file
	// (made by dwz) that was not given.
	ErrSupplement = errors.New("names are in a supplementary file, which is not there")
	// ErrUnsupported is wrapped for versions and encodings that are not read.
	ErrUnsupported = errors.New("unsupported debug information")
	// ErrNone is wrapped by Open if a file has no debug information.
	ErrNone = errors.New("no debug information")
)
