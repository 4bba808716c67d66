package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/cmd/flametel/internal/trace"
	"github.com/flametel/flametel/receiver/live"
)

func newTrace(s *record.Settings, code *int) *cobra.Command {
	opts := trace.Options{Interval: trace.DefaultInterval, Rows: trace.DefaultRows}
	var minBytes int
	cmd := &cobra.Command{
		Use:   "trace [flags] " + strings.Join(live.Families(), "|"),
		Short: "Show live which files, calls, waits and allocations there are",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) != 1 {
				return &usageError{fmt.Errorf("say what to trace: one of %s", strings.Join(live.Families(), ", ")), cmd}
			}
			opts.Family = args[0]
			if opts.Family == live.OffCPU && !cmd.Flags().Changed("min-duration") {
				opts.MinDuration = trace.DefaultMinWait
			}
			if minBytes < 0 {
				return &usageError{fmt.Errorf("--min-size must not be negative, got %d", minBytes), cmd}
			}
			opts.MinBytes = uint64(minBytes)
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			*code, err = trace.Run(s, &opts, live.Open)
			return err
		},
	}
	minBytes = trace.DefaultMinBytes
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.VarP(pids{&opts.PIDs}, "pid", "p", "")
	flags.StringVarP(&opts.Name, "name", "n", "", "")
	flags.BoolVarP(&opts.FailedOnly, "failed", "x", false, "")
	flags.VarP(secondsOrNone{seconds{&opts.MinDuration}}, "min-duration", "m", "")
	flags.Var(integer{&minBytes}, "min-size", "")
	flags.VarP(seconds{&opts.Duration}, "duration", "d", "")
	flags.VarP(seconds{&opts.Interval}, "interval", "i", "")
	flags.Var(integer{&opts.Rows}, "rows", "")
	flags.BoolVar(&opts.JSON, "json", false, "")
	explain(cmd, traceHelp)
	cmd.ValidArgs = live.Families()
	return cmd
}

const traceHelp = `Show live what programs on a Linux host do: a line for each event, or each second the system calls.

Usage:
  flametel trace [flags] syscalls|opens|reads|offcpu|allocations|retransmits

Examples:
  flametel trace opens                              each file that is opened, and who opens it
  flametel trace -x -n nginx opens                  what nginx looks for in vain
  flametel trace -m 10ms reads                      reads of files that took 10 ms or longer
  flametel trace -p 1234 syscalls                   which calls a process makes, and how long
  flametel trace --json -d 60 retransmits >log      a minute, for programs

What:
  syscalls      each second the calls by name: how many, errors, time, mean, p99 (read off a
                histogram, within a quarter), and who spent the most time in them
  opens         open, openat, openat2, creat: descriptor or error, time it took, path
  reads         read, pread, readv, preadv, sendfile of regular files: bytes, time, path
  offcpu        threads that did not run, why, for how long, and in which call
  allocations   memory that the kernel allocated; pages by which a slab grows are shown, too
  retransmits   what TCP sent again (SYN, SYN-ACK, data, loss probe), and whose connection it is

Flags:
  -p, --pid PID               a process and its children; repeat it, or join with commas
  -n, --name NAME             only threads whose name contains it (not for syscalls)
  -x, --failed                only calls that failed
  -m, --min-duration TIME     only what took as long; 0 is all     (default 0, offcpu: 1ms)
      --min-size BYTES        of allocations                                   (default 65536)
  -d, --duration TIME         how long, up to 24h                   (default: until Ctrl-C)
  -i, --interval TIME         how often syscalls prints its table, 100ms to 1h     (default 1s)
      --rows N                lines of a table of syscalls                         (default 20)
      --json                  a line of JSON for each event or call
  -h, --help                  print this

What could not be shown is counted and said on standard error. Every open or call is slowed down a
little while it is watched, also those that are not shown.
Exit codes: 0 ended, 1 failure, 2 wrong usage, 3 nothing happened, 4 privileges are missing, 130 and
143 interrupted and terminated.
Privileges: as for flametel record, which flametel record --dry-run checks.
`
