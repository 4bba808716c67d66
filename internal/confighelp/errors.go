package confighelp

import (
	"errors"
	"strings"

	"go.opentelemetry.io/collector/component"
)

// All joins the problems of a configuration. The collector puts the name of the
// component before the first; it is put before the others here.
func All(of component.Type, problems ...error) error {
	err := errors.Join(problems...)
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return &several{err, of}
}

type several struct {
	error
	of component.Type
}

// Error has a line for each problem.
func (e *several) Error() string {
	return strings.ReplaceAll(e.error.Error(), "\n", "\n"+e.of.String()+": ")
}

// Unwrap returns the problems.
func (e *several) Unwrap() error { return e.error }
