package cli

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
)

func TestHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "record", "--help")
	assert.Zero(t, p.run())
	assert.Empty(t, p.stderr.String())
	help := p.stdout.String()
	golden.Check(t, "help_record.txt", help)
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	assert.LessOrEqual(t, len(lines), 60)
	for _, line := range lines {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 100, "%s", line)
	}
	for _, args := range [][]string{{"help", "record"}, {"record", "-h"}} {
		other := flametel(t, "samples", args...)
		assert.Zero(t, other.run())
		assert.Equal(t, help, other.stdout.String())
	}
}

// The text of help is written by hand, so it could miss a flag.
func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	code := 0
	flags := newRecord(nil, &code).Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		assert.Contains(t, recordHelp, "--"+f.Name+" ")
		if f.Shorthand != "" {
			assert.Contains(t, recordHelp, "  -"+f.Shorthand+", --"+f.Name)
		}
	})
}

// flagNames are the long names of the flags of a command.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func TestHelpOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"help"}, {"--help"}} {
		p := flametel(t, "samples", args...)
		assert.Zero(t, p.run())
		assert.Empty(t, p.stderr.String())
		golden.Check(t, "help.txt", p.stdout.String())
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		p := flametel(t, "samples", arg)
		assert.Zero(t, p.run())
		assert.Regexp(t, `^flametel \d+\.\d+\.\d+ \(go1\.\S+, \w+/\w+\)\n$`, p.stdout.String())
		assert.Empty(t, p.stderr.String())
	}
}

// Wrong usage records nothing, makes no file and is told in few words.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, args := range [][]string{
		{"recordd"},
		{"help", "nothing"},
		{"--verbose"},
		{"record", "-F", "0"},
		{"record", "-F", "-1"},
		{"record", "-F", "100000"},
		{"record", "-F", "99.5"},
		{"record", "-F", "99999999999999999999"},
		{"record", "-d", "0"},
		{"record", "-d", "-5s"},
		{"record", "-d", "1 minute"},
		{"record", "-d", "NaN"},
		{"record", "-d", "1e300"},
		{"record", "-d"},
		{"record", "-p", "0"},
		{"record", "-p", "nginx"},
		{"record", "-p", "1,2,"},
		{"record", "-p", "1", "--", "true"},
		{"record", "nginx"},
		{"record", "-d", "5", "nginx", "--", "true"},
		{"record", "--frequncy", "99"},
		{"record", "--freq=99"},
		{"record", "--pids", "1"},
		{"record", "--zzz"},
		{"record", "-duration", "5"},
		{"record", "-Z"},
		{"record", "-o", "x.png"},
		{"record", "-o", ""},
		{"record", "-o", "a.svg", "-o", "a.svg"},
		{"record", "-o", "{type}.svg"},
		{"record", "--type", "wall,off_cpu"},
		{"record", "-f", "png", "-F", "0"},
		{"record", "-o", "\x1b[2J/"},
	} {
		p := flametel(t, "samples", args...)
		assert.Equal(t, 2, p.run(), "%q", args)
		assert.Empty(t, p.stdout.String())
		assert.Empty(t, p.files())
		assert.NotContains(t, p.stderr.String(), "\x1b")
		fmt.Fprintf(&all, "$ flametel %s\n%s\n", strings.Join(quoted(args), " "), p.stderr.String())
	}
	golden.Check(t, "usage.txt", all.String())
}

func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if q := fmt.Sprintf("%q", arg); arg == "" || strings.Contains(arg, " ") || q != `"`+arg+`"` {
			out[i] = q
		}
	}
	return out
}

func TestHelpOfTrace(t *testing.T) {
	t.Parallel()
	code := 0
	newTrace(nil, &code).Flags().VisitAll(func(f *pflag.Flag) {
		assert.Contains(t, traceHelp, "--"+f.Name+" ")
		assert.NotEmpty(t, f.Usage, "%s", f.Name)
	})
	for line := range strings.Lines(traceHelp) {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 101, "%s", line)
	}
	p := flametel(t, "samples", "trace", "--help")
	assert.Zero(t, p.run())
	golden.Check(t, "help_trace.txt", p.stdout.String())
}
