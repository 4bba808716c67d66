package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
)

// What users see, word for word: what is typed, standard output, standard error
// and the exit code.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, behaviour string
		args            []string
		signals         []syscall.Signal // once it records, or starts
	}{
		{name: "help", args: []string{"help"}},
		{name: "help unknown", args: []string{"help", "recordd"}},
		{name: "version", args: []string{"version"}},
		{name: "unknown command", args: []string{"recordd"}},
		{name: "unknown flag", args: []string{"record", "--frequncy", "99"}},
		{name: "several mistakes", args: []string{"record", "-F", "0", "-f", "png", "--merge", "all", "-o", ""}},
		{name: "bad expression", args: []string{"record", "--include", "operator("}},
		{name: "record", args: []string{"record", "-d", "0.1", "-o", "out.svg"}},
		{name: "record two files", args: []string{"record", "-d", "0.1", "-o", "out.svg", "-o", "out.pb.gz"}},
		{name: "record to standard output", args: []string{"record", "-d", "0.1", "-o", "-"}},
		{name: "record quietly", args: []string{"record", "-d", "0.1", "-o", "-", "-q", "-f", "folded"}},
		{name: "record verbosely", args: []string{"record", "-d", "0.1", "-o", "out.svg", "-v"}},
		{name: "record a command", args: []string{"record", "-o", "out.svg", "--", "sh", "-c", "echo hello; exit 7"}},
		{name: "record a missing command", args: []string{"record", "-o", "out.svg", "--", "no-such-command"}},
		{name: "record a folder", args: []string{"record", "-o", "out.svg", "--", "/tmp"}},
		{name: "record no samples", behaviour: "none", args: []string{"record", "-d", "0.1", "-o", "out.svg"}},
		{name: "record a part", args: []string{"record", "-d", "0.1", "-o", "out.svg", "--exclude", "^parse$"}},
		{name: "record nothing of it", args: []string{"record", "-d", "0.1", "-o", "out.svg", "--kernel", "--include", "parse"}},
		{name: "record too fast", args: []string{"record", "-d", "0.1", "-F", "5000", "-o", "out.svg"}},
		{name: "record for programs", args: []string{"record", "-d", "0.1", "-o", "out.svg", "--json", "-q"}},
		{name: "record onto a full disk", args: []string{"record", "-d", "0.1", "-f", "folded", "-o", "/dev/full", "-o", "out.folded"}},
		{name: "record nothing quietly", behaviour: "none", args: []string{"record", "-q", "-d", "0.1", "-o", "out.svg"}},
		{name: "record into a folder", args: []string{"record", "-o", "."}},
		{name: "no folder", args: []string{"record", "-o", "reports/out.svg"}},
		{name: "no process", args: []string{"record", "-p", "4194304"}},
		{name: "no process to trace", args: []string{"trace", "-p", "4194304", "opens"}},
		{name: "no process to look into", args: []string{"symbols", "-p", "4194304"}},
		{name: "no process to unwind", args: []string{"unwind", "-p", "4194304"}},
		{name: "process ends", behaviour: "ended", args: []string{"record", "-p", "1", "-o", "out.svg"}},
		{name: "process ends quietly", behaviour: "ended", args: []string{"record", "-q", "-p", "1", "-o", "out.svg"}},
		{name: "process ended before", behaviour: "early end", args: []string{"record", "-p", "1", "-o", "out.svg"}},
		{name: "kernel too old", behaviour: "broken", args: []string{"record", "-o", "out.svg"}},
		{name: "late failure", behaviour: "late", args: []string{"record", "-o", "out.svg"}},
		{name: "interrupted", args: []string{"record", "-o", "out.svg"}, signals: []syscall.Signal{syscall.SIGINT}},
		{name: "terminated", args: []string{"record", "-o", "out.svg"}, signals: []syscall.Signal{syscall.SIGTERM}},
		{name: "interrupted at the start", behaviour: "starts for ever", args: []string{"record"}, signals: []syscall.Signal{syscall.SIGINT}},
		{name: "terminated at the start of a command", behaviour: "starts for ever", args: []string{"record", "-o", "out.svg", "--", "sh", "-c", "echo hello"}, signals: []syscall.Signal{syscall.SIGTERM}},
		{name: "top interrupted at the start", behaviour: "starts for ever", args: []string{"top", "--once"}, signals: []syscall.Signal{syscall.SIGINT}},
		{name: "top without terminal", args: []string{"top"}},
		{name: "top once", behaviour: "early", args: []string{"top", "--once", "-i", "1", "--view", "modules"}},
		{name: "trace of nothing", args: []string{"trace"}},
		{name: "trace with mistakes", args: []string{"trace", "-i", "0.01", "-x", "-n", "x", "offcpu", "-p", "9999999"}},
		{name: "completion of nothing", args: []string{"completion"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			behaviour := test.behaviour
			if behaviour == "" {
				behaviour = "samples"
			}
			p := flametel(t, behaviour, test.args...)
			require.NoError(t, p.Start())
			for _, s := range test.signals {
				p.await(map[bool]string{true: "Something is odd", false: "recording "}[behaviour == "starts for ever"])
				require.NoError(t, p.Process.Signal(s))
			}
			p.end()
			golden.Check(t, filepath.Join("transcripts", strings.ReplaceAll(test.name, " ", "_")+".txt"), p.transcript(test.args))
		})
	}
}

// volatile are the parts of what is printed that differ from run to run, by what
// stands for them in a transcript.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b(in|after) [0-9]+\.[0-9] s\b`), "$1 T s"},
	{regexp.MustCompile(`\((\d+ bytes|\d+ kB)\)`), "(SIZE)"},
	{regexp.MustCompile(`process 1 \([^)]+\)`), "process 1 (NAME)"},
	{regexp.MustCompile(`own CPU [0-9.]+%`), "own CPU P%"},
	{regexp.MustCompile(`took \d+ ms`), "took N ms"},
	{regexp.MustCompile(`\(go1\.\S+ `), "(go1.X, "},
	{regexp.MustCompile(`"(seconds|own_cpu_seconds|bytes)":[0-9.e-]+`), `"$1":N`},
	{regexp.MustCompile(`\w+/\w+\)\n`), "SYSTEM)\n"},
}

func (p *program) transcript(args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "$ flametel %s\n", strings.Join(quoted(args), " "))
	for _, stream := range []struct{ name, text string }{{"standard output", p.stdout.String()}, {"standard error", p.stderr.String()}} {
		text := strings.ReplaceAll(stream.text, p.Dir, "DIR")
		for _, v := range volatile {
			text = v.pattern.ReplaceAllString(text, v.with)
		}
		if text != "" {
			fmt.Fprintf(&b, "[%s]\n%s", stream.name, text)
		}
	}
	for _, name := range p.files() {
		if st, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
			fmt.Fprintf(&b, "[file %s, mode %o]\n", name, st.Mode().Perm())
		}
	}
	fmt.Fprintf(&b, "[exit code %d]\n", p.ProcessState.ExitCode())
	return b.String()
}
