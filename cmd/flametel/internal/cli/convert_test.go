package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/formats"
)

const (
	beforeText = "web;main;parse 100\nweb;main;send 890\nweb;main;old_way 10\nweb;main;[libz.so.1]+0x120 100\n"
	afterText  = "web;main;parse 200\nweb;main;send_[i] 790\nweb;main;new_way_[k] 30\nweb;main;[libz.so.1]+0x334 101\n"
)

// withFiles prepares a run in a folder that has files.
func withFiles(t *testing.T, args ...string) *program {
	t.Helper()
	p := flametel(t, "samples", args...)
	for name, text := range map[string]string{
		"before.folded": beforeText, "after.folded": afterText, "empty.folded": "",
		"cut.svg":    "<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" data-ft=\"root\"><metadata data-ft=\"about\">{",
		"bad.folded": "web;main 3\nrubbish\nweb;x 1.5\n", "text.txt": "hello\nworld\n", "perf.data": "PERFILE2........",
		"perf.txt": "web 7 [000] 1.5: 1 cycles:\n\t1234 main (/bin/web)\n\nweb 7 [000] 1.6: 1 faults:\n\t1234 main (/bin/web)\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o600))
	}
	return p
}

// A picture that is brought up to date again and again says once what it was.
func TestConvertAgain(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "convert", "before.folded", "-o", "out.svg")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	for range 2 {
		again := flametel(t, "samples", "convert", "out.svg", "-o", "new.svg")
		again.Dir = p.Dir
		require.Zero(t, again.run(), "%s", again.stderr.String())
		require.NoError(t, os.Rename(filepath.Join(p.Dir, "new.svg"), filepath.Join(p.Dir, "out.svg")))
	}
	assert.Equal(t, 1, strings.Count(p.file("out.svg"), `"name":"Converted from","value":"out.svg"`))
}

func TestFileTranscripts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		args  []string
		stdin string
	}{
		{name: "convert", args: []string{"convert", "before.folded", "-o", "out.pb.gz"}},
		{name: "convert in place", args: []string{"convert", "before.folded", "-o", "before.folded"}},
		{name: "convert to standard output", args: []string{"convert", "after.folded", "-o", "-"}},
		{name: "convert standard input", args: []string{"convert", "-", "-o", "-", "-f", "folded", "-q"}, stdin: beforeText},
		{name: "convert several types", args: []string{"convert", "perf.txt", "-o", "out.folded"}},
		{name: "convert one type", args: []string{"convert", "perf.txt", "--type", "faults", "-o", "out.folded"}},
		{name: "convert an unknown type", args: []string{"convert", "perf.txt", "--type", "cpu", "-o", "out.folded"}},
		{name: "convert bad lines", args: []string{"convert", "bad.folded", "-o", "-"}},
		{name: "convert nothing", args: []string{"convert", "empty.folded", "-o", "out.folded"}},
		{name: "convert a missing file", args: []string{"convert", "none.svg", "-o", "out.svg"}},
		{name: "convert what is cut off", args: []string{"convert", "cut.svg", "-o", "out.folded"}},
		{name: "convert into a folder", args: []string{"convert", "before.folded", "-o", "."}},
		{name: "convert a folder", args: []string{"convert", ".", "-o", "out.svg"}},
		{name: "convert text", args: []string{"convert", "text.txt", "-o", "out.svg"}},
		{name: "convert a recording of perf", args: []string{"convert", "perf.data", "-o", "out.svg"}},
		{name: "convert into a missing folder", args: []string{"convert", "before.folded", "-o", "reports/out.svg"}},
		{name: "convert without output", args: []string{"convert", "before.folded"}},
		{name: "convert without input", args: []string{"convert", "-o", "out.svg"}},
		{name: "convert two files", args: []string{"convert", "before.folded", "after.folded", "-o", "out.svg"}},
		{name: "convert with mistakes", args: []string{"convert", "before.folded", "-o", "out.png", "--from", "jfr", "--layout", "up", "--max-size", "-1"}},
		{name: "diff", args: []string{"diff", "before.folded", "after.folded"}},
		{name: "diff swapped", args: []string{"diff", "after.folded", "before.folded", "--top", "1"}},
		{name: "diff of the same", args: []string{"diff", "before.folded", "before.folded"}},
		{name: "diff raw", args: []string{"diff", "before.folded", "after.folded", "--raw", "--exact-names"}},
		{name: "diff as text", args: []string{"diff", "before.folded", "-", "-o", "-"}, stdin: afterText},
		{name: "diff for programs", args: []string{"diff", "before.folded", "after.folded", "--json", "--top", "2", "--fail-over", "5%"}},
		{name: "diff beyond the limit", args: []string{"diff", "before.folded", "after.folded", "-q", "--fail-over", "0.5"}},
		{name: "diff within the limit", args: []string{"diff", "before.folded", "after.folded", "-q", "--fail-over", "50%"}},
		{name: "diff from nothing", args: []string{"diff", "empty.folded", "after.folded"}},
		{name: "diff to nothing", args: []string{"diff", "before.folded", "empty.folded"}},
		{name: "diff of nothing", args: []string{"diff", "empty.folded", "empty.folded"}},
		{name: "diff of one file", args: []string{"diff", "before.folded"}},
		{name: "diff with mistakes", args: []string{"diff", "-", "-", "-o", "out.pb.gz", "--top", "0"}},
		{name: "diff with a wrong limit", args: []string{"diff", "before.folded", "after.folded", "--fail-over", "a lot"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := withFiles(t, test.args...)
			before := p.files()
			p.Stdin = strings.NewReader(test.stdin)
			p.run()
			for _, name := range before {
				if name != "before.folded" { // which one case replaces
					require.NoError(t, os.Remove(filepath.Join(p.Dir, name)))
				}
			}
			golden.Check(t, filepath.Join("transcripts", strings.ReplaceAll(test.name, " ", "_")+".txt"), p.transcript(test.args))
		})
	}
}

// The differential flame graph holds what was compared.
func TestDiffWritesAFlameGraph(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "diff", "before.folded", "after.folded", "-o", "diff.svg")
	require.Equal(t, 0, p.run(), p.stderr.String())
	got, err := formats.Read(strings.NewReader(p.file("diff.svg")), formats.ReadOptions{})
	require.NoError(t, err)
	require.NotNil(t, got.Comparison)
	assert.Equal(t, int64(1100), got.Comparison.Sides[callgraph.Before].Total)
	assert.Equal(t, int64(1121), got.Comparison.Sides[callgraph.After].Total)
	assert.Equal(t, "before.folded", got.Comparison.Sides[callgraph.Before].Label)
	assert.Regexp(t, `^wrote diff.svg \(\d+ kB\)\n$`, p.stderr.String())
}

// What a recording wrote can be compared with what it writes next.
func TestRecordConvertDiff(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"out.svg", "out.pb.gz", "out.speedscope.json", "out.folded"} {
		p := flametel(t, "samples", "record", "-d", "0.1", "-q", "-o", file)
		require.Equal(t, 0, p.run(), p.stderr.String())
		folded := flametel(t, "samples", "convert", file, "-q", "-o", "-")
		folded.Dir = p.Dir
		require.Equal(t, 0, folded.run(), folded.stderr.String())
		total, err := formats.Read(strings.NewReader(folded.stdout.String()), formats.ReadOptions{})
		require.NoError(t, err)
		assert.Equal(t, int64(100), total.Graphs[0].Total(0), file)
		again := flametel(t, "samples", "diff", file, "-", "--fail-over", "0")
		again.Dir = p.Dir
		again.Stdin = strings.NewReader(folded.stdout.String())
		assert.Equal(t, 0, again.run(), again.stderr.String())
		assert.Contains(t, again.stdout.String(), "No function changed beyond noise")
	}
}

// A profile of several types keeps all of them, and which one is shown first.
func TestConvertKeepsTypes(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "convert", "heap.pb.gz", "-q", "-o", "again.pb.gz")
	f, err := os.Create(filepath.Join(p.Dir, "heap.pb.gz"))
	require.NoError(t, err)
	require.NoError(t, pprof.Lookup("heap").WriteTo(f, 0))
	require.NoError(t, f.Close())
	require.Equal(t, 0, p.run(), p.stderr.String())
	want, err := profile.ParseData([]byte(p.file("heap.pb.gz")))
	require.NoError(t, err)
	got, err := profile.ParseData([]byte(p.file("again.pb.gz")))
	require.NoError(t, err)
	assert.Equal(t, want.SampleType, got.SampleType)
	assert.Equal(t, "inuse_space", got.DefaultSampleType, "which go tool pprof shows without being told")
	assert.Equal(t, want.Period, got.Period)
	assert.Equal(t, want.PeriodType, got.PeriodType)
	assert.Equal(t, want.TimeNanos, got.TimeNanos)
	for i := range want.SampleType {
		index := want.SampleType[i].Type
		assert.Equal(t, topOf(t, p, "heap.pb.gz", index), topOf(t, p, "again.pb.gz", index))
	}
}

// topOf is what go tool pprof makes of a file.
func topOf(t *testing.T, p *program, file, index string) string {
	t.Helper()
	cmd := exec.Command("go", "tool", "pprof", "-top", "-lines", "-nodecount=0", "-nodefraction=0", "-symbolize=none", "-sample_index="+index, filepath.Join(p.Dir, file))
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	require.NoError(t, err)
	return strings.Replace(string(out), "Converted from: heap.pb.gz\n", "", 1)
}

// A failed conversion leaves the file that was there.
func TestConvertKeepsTheOldFileOnFailure(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "convert", "text.txt", "-o", "before.folded")
	assert.Equal(t, 1, p.run())
	assert.Equal(t, beforeText, p.file("before.folded"))
}

func TestHelpOfConvertAndDiff(t *testing.T) {
	t.Parallel()
	code := 0
	for _, cmd := range []*cobra.Command{newConvert(nil, &code), newDiff(nil, &code)} {
		p := flametel(t, "samples", cmd.Name(), "--help")
		assert.Zero(t, p.run())
		help := p.stdout.String()
		golden.Check(t, fmt.Sprintf("help_%s.txt", cmd.Name()), help)
		assert.LessOrEqual(t, strings.Count(help, "\n"), 60)
		for line := range strings.Lines(help) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, "%s", line)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			assert.Contains(t, help, "--"+f.Name+" ")
			if f.Shorthand != "" {
				assert.Contains(t, help, "  -"+f.Shorthand+", --"+f.Name)
			}
		})
	}
}

// Names from a hostile file do not reach the terminal as they are.
func TestDiffEscapesNames(t *testing.T) {
	t.Parallel()
	p := withFiles(t, "diff", "before.folded", "-")
	p.Stdin = bytes.NewReader([]byte("web;\x1b[2Jevil\u202e 500\n"))
	require.Equal(t, 0, p.run(), p.stderr.String())
	assert.NotContains(t, p.stdout.String(), "\x1b")
	assert.NotContains(t, p.stdout.String(), "\u202e")
	assert.Contains(t, p.stdout.String(), `\x1b[2Jevil\u202e`)
}
