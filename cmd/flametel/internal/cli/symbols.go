package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/symbols"
	"github.com/flametel/flametel/symbolize/demangle"
)

func newSymbols(s *record.Settings, code *int) *cobra.Command {
	var opts symbols.Options
	var list []int
	style := "simple"
	cmd := &cobra.Command{
		Use:   "symbols [flags] FILE [ADDRESS]...",
		Short: "Show what names code has, and why some has none",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := symbolOptions(&opts, list, style, args); err != nil {
				return &usageError{err, cmd}
			}
			return failure(code, record.CodeFailure, symbols.Run(s.Stdout, &opts))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(pids{&list}, "pid", "p", "")
	flags.StringVar(&style, "demangle", style, "")
	flags.BoolVar(&opts.NoInlines, "no-inlines", false, "")
	flags.StringArrayVar(&opts.DebugDirs, "debug-dir", nil, "")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), symbolsHelp)
	})
	return cmd
}

// symbolOptions completes the options by the arguments.
func symbolOptions(o *symbols.Options, list []int, style string, args []string) error {
	styles := map[string]demangle.Style{"simple": demangle.Simple, "full": demangle.Full, "none": demangle.None}
	var known bool
	if o.Demangle, known = styles[style]; !known {
		return fmt.Errorf("--demangle %q is not one of simple, full, none", style)
	}
	switch {
	case len(list) > 1:
		return errors.New("--pid is possible once")
	case len(list) == 1:
		o.PID = list[0]
	case len(args) == 0:
		return errors.New("give the name of a file, or --pid for a process")
	default:
		o.File, args = args[0], args[1:]
	}
	var errs []error
	for _, text := range args {
		at, err := symbols.ParseAddress(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		o.Addresses = append(o.Addresses, at)
	}
	return errors.Join(errs...)
}
