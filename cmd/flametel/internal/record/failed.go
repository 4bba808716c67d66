package record

import (
	"errors"
	"slices"
	"strings"
	"syscall"

	"github.com/flametel/flametel/exporter"
)

// notWritten is an error for each output that was not written, and what helps. What
// is in another output is not lost.
func notWritten(outputs []output) error {
	var errs []error
	for i := range outputs {
		o := &outputs[i]
		if o.failed == nil {
			continue
		}
		err := o.failed
		var lost *exporter.LostError
		if errors.As(err, &lost) && slices.ContainsFunc(outputs, o.isCopy) {
			err = lost.Err
		}
		errs = append(errs, &outputError{err, o.advice()})
	}
	return errors.Join(errs...)
}

// isCopy: another output was written and holds the same samples.
func (o *output) isCopy(other output) bool {
	return other.failed == nil && (other.sampleType == "" || other.sampleType == o.sampleType)
}

// advice is what to do when there was no room for an output, else "".
func (o *output) advice() string {
	full := func(errno error) bool { return errors.Is(o.failed, errno) }
	switch {
	case !slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG}, full):
		return ""
	case o.kind() == "svg":
		return "choose another place with --output, or a smaller file with --max-size"
	}
	return "choose another place with --output"
}

// outputError says what helps as well.
type outputError struct {
	error
	advice string
}

// Error is the whole text.
func (e *outputError) Error() string {
	return strings.TrimSuffix(e.error.Error()+"; "+e.advice, "; ")
}

// Unwrap returns what went wrong.
func (e *outputError) Unwrap() error { return e.error }
