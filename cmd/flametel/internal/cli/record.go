package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
)

func newRecord(s *record.Settings, code *int) *cobra.Command {
	opts := record.Options{
		Frequency:     record.DefaultFrequency,
		DrainInterval: record.DefaultDrain,
		Types:         []string{record.DefaultType},
		Layout:        record.DefaultLayout,
	}
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "record [flags] [-- command [argument]...]",
		Short: "Record a profile and write it as a flame graph or in other formats",
		Args:  commandAfterDashes,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			opts.Command = args
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			if printConfig {
				return failure(code, record.CodeFailure, record.PrintConfig(s, &opts))
			}
			*code, err = record.Run(cmd.Context(), s, &opts)
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(pids{&opts.PIDs}, "pid", "p", "")
	flags.VarP(seconds{&opts.Duration}, "duration", "d", "")
	flags.VarP(integer{&opts.Frequency}, "frequency", "F", "")
	flags.StringSliceVar(&opts.Types, "type", opts.Types, "")
	flags.Var(seconds{&opts.DrainInterval}, "drain-interval", "")
	flags.StringArrayVarP(&opts.Outputs, "output", "o", nil, "")
	flags.StringVarP(&opts.Format, "format", "f", "", "")
	flags.StringVar(&opts.Title, "title", "", "")
	flags.StringVar(&opts.Layout, "layout", opts.Layout, "")
	flags.BoolVar(&opts.NoAnnotations, "no-annotations", false, "")
	flags.BoolVarP(&opts.Quiet, "quiet", "q", false, "")
	flags.BoolVar(&printConfig, "print-config", false, "")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), recordHelp)
	})
	return cmd
}

// commandAfterDashes refuses arguments that do not stand after two dashes: in
// "record nginx" it is not clear whether to run nginx or to watch it.
func commandAfterDashes(cmd *cobra.Command, args []string) error {
	before := cmd.ArgsLenAtDash()
	if before < 0 {
		before = len(args)
	}
	if before > 0 {
		return &usageError{fmt.Errorf("unexpected argument %q; a command to run stands after two dashes: -- %s",
			args[0], strings.Join(args[:before], " ")), cmd}
	}
	return nil
}

// failure sets the exit code if there is an error.
func failure(code *int, with int, err error) error {
	if err != nil {
		*code = with
	}
	return err
}
