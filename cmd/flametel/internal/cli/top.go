package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/top"
)

func newTop(s *record.Settings, code *int) *cobra.Command {
	opts := top.Options{
		Record: record.Options{
			Frequency:     record.DefaultFrequency,
			DrainInterval: record.DefaultDrain,
			Types:         []string{record.DefaultType},
			Layout:        record.DefaultLayout,
			Demangle:      record.DefaultDemangle,
			Merge:         record.DefaultMerge,
			MaxMiB:        record.DefaultMaxMiB,
		},
		Interval: top.DefaultInterval,
		Sort:     top.Sorts()[0],
		View:     top.Views()[0],
		Rows:     top.DefaultRows,
	}
	var once bool
	cmd := &cobra.Command{
		Use:   "top [flags]",
		Short: "Show live which functions, files and processes use the CPUs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if once && opts.Count == 0 {
				opts.Count = 1
			}
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			*code, err = top.Run(cmd.Context(), s, &opts)
			if errors.Is(err, top.ErrNoTerminal) {
				return &usageError{err, cmd}
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	targetFlags(flags, &opts.Record.PIDs, &opts.Record.Cgroups, &opts.Record.Containers, &opts.Record.All)
	flags.VarP(integer{&opts.Record.Frequency}, "frequency", "F", "")
	flags.StringVar(&opts.Record.Demangle, "demangle", opts.Record.Demangle, "")
	flags.BoolVar(&opts.Record.NoInlines, "no-inlines", false, "")
	flags.VarP(seconds{&opts.Interval}, "interval", "i", "")
	flags.Var(seconds{&opts.Span}, "span", "")
	flags.StringVar(&opts.Sort, "sort", opts.Sort, "")
	flags.StringVar(&opts.View, "view", opts.View, "")
	flags.StringVar(&opts.Filter, "filter", "", "")
	flags.BoolVar(&once, "once", false, "")
	flags.VarP(integer{&opts.Count}, "iterations", "n", "")
	flags.Var(integer{&opts.Rows}, "rows", "")
	explain(cmd, topHelp)
	completeTargets(cmd)
	offer(cmd, "demangle", record.DemangleStyles())
	offer(cmd, "sort", top.Sorts())
	offer(cmd, "view", top.Views())
	return cmd
}
