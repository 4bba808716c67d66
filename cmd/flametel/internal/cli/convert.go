package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flametel/flametel/cmd/flametel/internal/convert"
	"github.com/flametel/flametel/cmd/flametel/internal/profiles"
	"github.com/flametel/flametel/cmd/flametel/internal/record"
	"github.com/flametel/flametel/exporter/formats"
)

// defaultMaxMiB is the limit on the size of an SVG.
const defaultMaxMiB = 8

func newConvert(s *record.Settings, code *int) *cobra.Command {
	opts := convert.Options{Layout: record.DefaultLayout, MaxMiB: defaultMaxMiB}
	cmd := &cobra.Command{
		Use:   "convert [flags] IN -o OUT",
		Short: "Turn a profile of one format into another",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exactly(args, "IN", 1); err != nil {
				return &usageError{err, cmd}
			}
			opts.Input = args[0]
			if !cmd.Flags().Changed("output") {
				return &usageError{errors.New("give --output FILE; - is standard output"), cmd}
			}
			if err := opts.Validate(); err != nil {
				return &usageError{err, cmd}
			}
			samples, err := convert.Run(streams(s), &opts)
			if err == nil && samples == 0 {
				s.Messages.Printf("flametel: warning: there are no samples in it")
				*code = record.CodeNoSamples
			}
			return failure(code, record.CodeFailure, err)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.From, "from", "", "")
	flags.StringVarP(&opts.Output, "output", "o", "", "")
	flags.StringVarP(&opts.Format, "format", "f", "", "")
	flags.StringVar(&opts.Type, "type", "", "")
	flags.StringVar(&opts.Title, "title", "", "")
	flags.StringVar(&opts.Layout, "layout", opts.Layout, "")
	flags.Var(integer{&opts.MaxMiB}, "max-size", "")
	flags.BoolVar(&opts.NoAnnotations, "no-annotations", false, "")
	flags.BoolVar(&opts.Modules, "modules", false, "")
	flags.BoolVarP(&opts.Quiet, "quiet", "q", false, "")
	explain(cmd, convertHelp)
	offer(cmd, "from", formats.ReadNames())
	offer(cmd, "format", formats.WrittenNames())
	offer(cmd, "layout", []string{"icicle", "flame"})
	return cmd
}

// streams are those of this program.
func streams(s *record.Settings) *profiles.Streams {
	return &profiles.Streams{In: os.Stdin, Out: s.Stdout, OutTerminal: s.StdoutTerminal, Messages: s.Messages}
}

// exactly checks the number of arguments, which have names.
func exactly(args []string, names string, n int) error {
	switch {
	case len(args) == n:
		return nil
	case len(args) > n:
		return fmt.Errorf("unexpected argument %q; give %s and flags", args[n], names)
	}
	return fmt.Errorf("give %s; - is standard input", strings.TrimSpace(names))
}

const convertHelp = `Turn a profile of one format into another, a flame graph among them. Totals stay exactly the same.

Usage:
  flametel convert [flags] IN -o OUT

Examples:
  flametel convert cpu.pb.gz -o cpu.svg             a profile of a Go program as a flame graph
  flametel convert profile.svg -o profile.pb.gz     what a flame graph holds, for go tool pprof
  flametel convert profile.svg -o - | grep malloc   the same as folded stacks
  perf script | flametel convert - -o perf.svg      what perf recorded
  flametel convert heap.pb.gz --type alloc_space -o heap.svg
  flametel convert a.jsonl -o a.speedscope.json     what a collector's file exporter wrote

IN is a file or - for standard input, compressed by gzip or not. Its format is found by its content:
  svg          flame graphs that flametel wrote, also differential ones
  folded       text of flametel, stackcollapse-perf.pl and others, bcc, DTrace, async-profiler
  pprof        profile.proto
  otlp         OTLP profiles in protobuf, also several messages with their lengths
  otlp-json    OTLP profiles in JSON, also several messages
  speedscope   files of speedscope's own format, sampled and evented
  perf-script  text that perf script printed

What to read:
      --from FORMAT           the format of IN, one of those above           (default: by content)
      --type TYPE             only samples of this type: cpu, off_cpu, alloc_space, ...
                                        (default: all, if OUT has room for them)
Where to write it:
  -o, --output FILE           FILE is replaced, - is standard output
  -f, --format FORMAT         svg, folded, pprof or speedscope      (default by FILE's extension:
                              .svg .folded .txt .pb.gz .pprof .speedscope.json; folded for -)
      --title TEXT            title of the flame graph
      --layout LAYOUT         icicle (root at the top) or flame (at the bottom)   (default icicle)
      --max-size MIB          of a flame graph; beyond it, the smallest subtrees are merged and the
                              file says so; 0 is no limit                              (default 8)
      --no-annotations        folded stacks without _[k] kernel, _[j] JIT and _[i] inlined
      --modules               folded stacks with modules: libc.so.6` + "`" + `read

Others:
  -q, --quiet                 print only warnings and errors
  -h, --help                  print this

Exit codes: 0 written, 1 failure, 2 wrong usage, 3 written, but without samples.
`
