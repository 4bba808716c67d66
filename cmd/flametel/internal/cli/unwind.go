package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/unwind"
)

func newUnwind(s *record.Settings, code *int) *cobra.Command {
	var opts unwind.Options
	var list []int
	cmd := &cobra.Command{
		Use:   "unwind [flags] FILE",
		Short: "Show what unwind information code has",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(list) > 1:
				return &usageError{errors.New("--pid is possible once"), cmd}
			case len(list)+len(args) != 1:
				return &usageError{errors.New("give the name of one file, or --pid for a process"), cmd}
			case len(list) == 1:
				opts.PID = list[0]
			default:
				opts.File = args[0]
			}
			return failure(code, record.CodeFailure, unwind.Run(s.Stdout, &opts))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(pids{&list}, "pid", "p", "")
	flags.BoolVar(&opts.Rows, "rows", false, "")
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), unwindHelp)
	})
	return cmd
}

const unwindHelp = `Show what unwind information the code of a file or a process has: from .eh_frame, .debug_frame or the
line table of Go, as rows that say how to find the caller from each address on.

Usage:
  flametel unwind [flags] FILE

Examples:
  flametel unwind /usr/lib/x86_64-linux-gnu/libc.so.6   how much of a library is covered
  flametel unwind -p 1234                               every file that a process runs code of
  flametel unwind --rows a.out                          every row, by file address

Flags:
  -p, --pid PID   the files of this process
      --rows      print every row
  -h, --help      print this

Recordings walk stacks by the same rows, and by frame pointer where there are none.
`
