package cli

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
)

func newRecord(s *record.Settings, code *int) *cobra.Command {
	opts := record.Options{
		Frequency:     record.DefaultFrequency,
		DrainInterval: record.DefaultDrain,
		Types:         []string{record.DefaultType},
		Layout:        record.DefaultLayout,
		Demangle:      record.DefaultDemangle,
		Merge:         record.DefaultMerge,
		MaxMiB:        record.DefaultMaxMiB,
	}
	var mode recordMode
	cmd := &cobra.Command{
		Use:   "record [flags] [-- command [argument]...]",
		Short: "Record a profile and write it as a flame graph or in other formats",
		Args:  commandAfterDashes,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			opts.Command = args
			if mode.threads {
				opts.Merge = "thread"
			}
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			switch {
			case mode.printConfig:
				return failure(code, record.CodeFailure, record.PrintConfig(s, &opts))
			case mode.dryRun:
				*code, err = record.DryRun(cmd.Context(), s, &opts)
			default:
				*code, err = record.Run(cmd.Context(), s, &opts)
			}
			return err
		},
	}
	recordFlags(cmd.Flags(), &opts, &mode)
	explain(cmd, recordHelp)
	completeRecord(cmd)
	return cmd
}

// recordMode is what else than recording is asked for.
type recordMode struct {
	printConfig, dryRun bool
	threads             bool // short for --merge thread
}

func recordFlags(flags *pflag.FlagSet, opts *record.Options, mode *recordMode) {
	flags.SortFlags = false
	targetFlags(flags, &opts.PIDs, &opts.Cgroups, &opts.Containers, &opts.All)
	flags.VarP(seconds{&opts.Duration}, "duration", "d", "")
	flags.VarP(integer{&opts.Frequency}, "frequency", "F", "")
	flags.StringSliceVar(&opts.Types, "type", opts.Types, "")
	flags.BoolVar(&opts.PerThread, "per-thread", false, "")
	flags.StringVar(&opts.Demangle, "demangle", opts.Demangle, "")
	flags.BoolVar(&opts.NoInlines, "no-inlines", false, "")
	flags.Var(seconds{&opts.DrainInterval}, "drain-interval", "")
	flags.StringArrayVarP(&opts.Outputs, "output", "o", nil, "")
	flags.StringVarP(&opts.Format, "format", "f", "", "")
	flags.StringVar(&opts.Include, "include", "", "")
	flags.StringVar(&opts.Exclude, "exclude", "", "")
	flags.BoolVar(&opts.KernelOnly, "kernel", false, "")
	flags.BoolVar(&opts.UserOnly, "user", false, "")
	flags.BoolVar(&opts.Idle, "idle", false, "")
	flags.StringVar(&opts.Merge, "merge", opts.Merge, "")
	flags.BoolVar(&mode.threads, "threads", false, "")
	flags.StringVar(&opts.Title, "title", "", "")
	flags.StringVar(&opts.Layout, "layout", opts.Layout, "")
	flags.BoolVar(&opts.NoAnnotations, "no-annotations", false, "")
	flags.Var(integer{&opts.MaxMiB}, "max-size", "")
	flags.StringVar(&opts.Baseline, "diff", "", "")
	flags.BoolVar(&opts.JSON, "json", false, "")
	flags.BoolVar(&opts.Open, "open", false, "")
	flags.BoolVar(&mode.dryRun, "dry-run", false, "")
	flags.BoolVar(&mode.printConfig, "print-config", false, "")
	flags.BoolVarP(&opts.Quiet, "quiet", "q", false, "")
	flags.BoolVarP(&opts.Verbose, "verbose", "v", false, "")
}

// targetFlags are the flags that choose processes.
func targetFlags(flags *pflag.FlagSet, list *[]int, cgroups, containers *[]string, all *bool) {
	flags.VarP(pids{list}, "pid", "p", "")
	flags.StringArrayVar(cgroups, "cgroup", nil, "")
	flags.StringArrayVar(containers, "container", nil, "")
	flags.BoolVarP(all, "all", "a", false, "")
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

// failure sets the exit code if there is an error. That nobody reads standard
// output any more is none.
func failure(code *int, with int, err error) error {
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if err != nil {
		*code = with
	}
	return err
}
