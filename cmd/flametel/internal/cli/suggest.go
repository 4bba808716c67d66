package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flametel/flametel/internal/suggest"
)

// flagError makes a message of an error of the flag parser, with the nearest
// flag for one that does not exist. Args is the whole command line.
func flagError(cmd *cobra.Command, args []string, err error) error {
	var missing *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var noValue *pflag.ValueRequiredError
	slip := singleDash(cmd, args)
	switch {
	case slip != "":
		err = fmt.Errorf("unknown flag -%s; did you mean --%s?", slip, slip)
	case errors.As(err, &missing):
		err = unknownFlag(cmd, missing)
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	case errors.As(err, &noValue):
		err = fmt.Errorf("--%s needs a value", noValue.GetFlag().Name)
	}
	return &usageError{err, cmd}
}

// singleDash returns the long flag that stands in a command line with one dash:
// -duration would be read as -d with the value uration.
func singleDash(cmd *cobra.Command, args []string) string {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if len(name) > 1 && strings.HasPrefix(arg, "-") && cmd.Flags().Lookup(name) != nil {
			return name
		}
	}
	return ""
}

func unknownFlag(cmd *cobra.Command, missing *pflag.NotExistError) error {
	name := missing.GetSpecifiedName()
	if missing.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag -%s", name)
	}
	if near := nearest(cmd, name); near != "" {
		return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, near)
	}
	return fmt.Errorf("unknown flag --%s", name)
}

// nearest returns the long flag that is most like a name, "" if none is.
func nearest(cmd *cobra.Command, name string) string {
	name, _, _ = strings.Cut(name, "=")
	best, bestDistance := "", len(name)/2+1
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		d := suggest.Distance(strings.ToLower(name), f.Name)
		if strings.HasPrefix(f.Name, name) && len(name) > 1 {
			d = 0
		}
		if d < bestDistance && !f.Hidden {
			best, bestDistance = f.Name, d
		}
	})
	return best
}
