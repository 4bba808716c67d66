package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/diff"
	"github.com/flametel/flametel/cmd/flametel/internal/record"
)

// codeGrown is the exit code of a comparison that --fail-over says no to.
const codeGrown = 5

func newDiff(s *record.Settings, code *int) *cobra.Command {
	opts := diff.Options{Layout: record.DefaultLayout, MaxMiB: defaultMaxMiB, Top: 20, FailOver: -1}
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER [-o OUT]",
		Short: "Compare two profiles: what takes more, what takes less",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exactly(args, "BEFORE and AFTER", 2); err != nil {
				return &usageError{err, cmd}
			}
			opts.Before, opts.After = args[0], args[1]
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			res, err := diff.Run(streams(s), &opts)
			switch {
			case err != nil:
				return failure(code, record.CodeFailure, err)
			case len(res.Grown) > 0:
				return failure(code, codeGrown, opts.Failure(res))
			case res.Empty:
				*code = record.CodeNoSamples
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.Type, "type", "", "")
	flags.BoolVar(&opts.Raw, "raw", false, "")
	flags.BoolVar(&opts.ExactNames, "exact-names", false, "")
	flags.StringVarP(&opts.Output, "output", "o", "", "")
	flags.StringVarP(&opts.Format, "format", "f", "", "")
	flags.StringVar(&opts.Title, "title", "", "")
	flags.StringVar(&opts.Layout, "layout", opts.Layout, "")
	flags.Var(integer{&opts.MaxMiB}, "max-size", "")
	flags.Var(integer{&opts.Top}, "top", "")
	flags.BoolVar(&opts.JSON, "json", false, "")
	flags.Var(share{&opts.FailOver}, "fail-over", "")
	flags.BoolVarP(&opts.Quiet, "quiet", "q", false, "")
	explain(cmd, diffHelp)
	offer(cmd, "format", []string{"svg", "folded"})
	offer(cmd, "layout", []string{"icicle", "flame"})
	return cmd
}

// share is a flag for a part of a whole, in percent: 5%, 0.5 or 0.5%.
type share struct{ to *float64 }

func (s share) String() string {
	if s.to == nil || *s.to < 0 {
		return ""
	}
	return strconv.FormatFloat(100**s.to, 'g', -1, 64) + "%"
}

// Type is how help calls such a value.
func (share) Type() string { return "percent" }

func (s share) Set(text string) error {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return errors.New("must be a share in percent, such as 5% or 0.5%")
	}
	*s.to = percent / 100
	return nil
}

const diffHelp = `Compare two profiles of any formats: print what takes more and what takes less, and draw it.

Usage:
  flametel diff [flags] BEFORE AFTER [-o OUT]

Examples:
  flametel diff old.svg new.svg                     print the functions that changed most
  flametel diff old.svg new.svg -o diff.svg         and draw a differential flame graph
  flametel diff base.pb.gz cpu.pb.gz --fail-over 5% end with code 5 if a function grew by more
  flametel diff monday.folded friday.svg --raw      the counts as they are
  flametel diff old.pb.gz new.pb.gz --json | jq .   for programs

BEFORE and AFTER are files of any format that flametel convert reads. One can be - for standard
input.

Shares of each profile's own total are compared, so a longer recording is not more. In the picture
red is more after and blue is less, what chance explains (a two-proportion test with |z| < 1.96) is
white, what is new is outlined, and what is gone is kept in place, hatched.

Two builds match although code moved: addresses, offsets, suffixes of compilers such as .cold,
hashes of Rust, tiers of runtimes and numbers of threads do not count, nor what was inlined.

What to compare:
      --type TYPE             samples of this type: cpu, off_cpu, ...    (default: the main one)
      --raw                   weights as they are, not shares of each total
      --exact-names           names with addresses, offsets, suffixes and numbers

Where to write it:
  -o, --output FILE           FILE is replaced, - is standard output
  -f, --format FORMAT         svg or folded (with two counts)       (default by FILE's extension)
      --title TEXT            title of the flame graph
      --layout LAYOUT         icicle (root at the top) or flame (at the bottom)   (default icicle)
      --max-size MIB          of the flame graph; 0 is no limit                        (default 8)

What to say:
      --top NUMBER            so many functions are printed at most                   (default 20)
      --json                  print the comparison as JSON
      --fail-over PERCENT     fail if the total of a function grew by more than so many points of
                              all samples, and by more than noise
  -q, --quiet                 print only warnings and errors
  -h, --help                  print this

Exit codes: 0 compared, 1 failure, 2 wrong usage, 3 neither has samples, 5 beyond --fail-over.
`
