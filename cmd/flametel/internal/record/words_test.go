package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// What components log for operators becomes a sentence.
func TestWords(t *testing.T) {
	t.Parallel()
	lost := func(kind string, lost, taken uint64, causes map[string]uint64) []zap.Field {
		return []zap.Field{zap.String("kind", kind), zap.Uint64("lost", lost), zap.Uint64("taken", taken), zap.Any("causes", causes)}
	}
	const prefix = "flametel: warning: "
	for _, test := range []struct {
		message string
		fields  []zap.Field
		want    string
	}{
		{"Samples were lost.", lost("off_cpu", 3, 22638, map[string]uint64{"state": 3, "scratch": 0}), prefix + "3 of 22,638 waits lost: begin not noted (state)\n"},
		{"Samples were lost.", lost("file_opens", 1003, 2000, map[string]uint64{"state": 3, "counts_full": 1000}), prefix +
			"1,003 of 2,000 opens lost: 1,000 no room to count them (counts_full), 3 begin not noted (state); a longer --drain-interval makes room for more\n"},
		{"Samples were lost.", lost("new_kind", 1, 1, map[string]uint64{"new_cause": 1}), prefix + "1 of 1 sample lost: for another reason (new_cause)\n"},
		{"A kernel map is nearly full.", []zap.Field{zap.String("map", "file_opens.counts"), zap.Float64("fill", 1), zap.String("advice", "Set map_entries higher.")}, prefix +
			"the kernel's room for counts of file_opens is 100% full, and what does not fit is lost; a longer --drain-interval makes room for more\n"},
		{"Generated code has no names.", []zap.Field{zap.String("executable", "/usr/lib/chromium/chrom\x1b[2Jium"), zap.String("advice", "start it with --js-flags=--perf-basic-prof")},
			`flametel: note: chrom\x1b[2Jium generates code without names; start it with --js-flags=--perf-basic-prof to see them` + "\n"},
		{"A perf map, which names generated code, was not read or not in full.", []zap.Field{zap.String("reason", "too_big"), zap.String("advice", "Have it list fewer.")},
			"flametel: note: a perf map, which names generated code, was not read in full (too big): Have it list fewer.\n"},
		{"A file is compared with nothing.", []zap.Field{zap.String("baseline", "a.svg"), zap.String("type", "cpu"), zap.Error(errors.New("it is empty"))}, prefix +
			"--diff a.svg: there is nothing to compare cpu with: it is empty\n"},
		{"Something else.", []zap.Field{zap.Int("count", 3), zap.String("name", "x")}, prefix + "Something else (count 3, name x)\n"},
	} {
		for _, quiet := range []bool{false, true} {
			var out bytes.Buffer
			newLogger(terminal.NewMessages(&out, 0), quiet, false).Warn(test.message, test.fields...)
			want := test.want
			if quiet && !strings.HasPrefix(want, prefix) {
				want = ""
			}
			assert.Equal(t, want, out.String())
		}
	}
}

// A message that no component has would never be put into words.
func TestWordsAreForMessagesThatComponentsHave(t *testing.T) {
	t.Parallel()
	const root = "../../../.."
	var code strings.Builder
	for _, pattern := range []string{"receiver/*.go", "exporter/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			code.Write(text)
		}
	}
	joined := regexp.MustCompile(`" ?\+\n\t*"`).ReplaceAllString(code.String(), "")
	for message := range wordings() {
		assert.True(t, strings.Contains(joined, `"`+message+`"`), "no component says: %s", message)
	}
	causes, err := os.ReadFile(filepath.Join(root, "docs/troubleshooting.md"))
	require.NoError(t, err)
	for cause := range lossWords {
		assert.True(t, strings.Contains(string(causes), "| `"+cause+"` |"), "the documentation does not explain %s", cause)
	}
}
