package svg_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/svg"
)

// keyTable is the table of keys as README.md has it.
func keyTable() string {
	var b strings.Builder
	for _, k := range svg.Keys() {
		keys := strings.NewReplacer("C-", "Ctrl-", "Arrow", "").Replace(k.Keys)
		b.WriteString("| `" + strings.ReplaceAll(keys, " ", "` `") + "` | " + k.Text)
		if k.OnFrame {
			b.WriteString(" (of the frame under the pointer or with the focus)")
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

func TestReadmeHasTheKeys(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	const head = "| Key | Action |\n| --- | --- |\n"
	before, rest, ok := strings.Cut(string(readme), head)
	require.True(t, ok)
	if *update {
		_, after, _ := strings.Cut(rest, "\n\n")
		require.NoError(t, os.WriteFile("README.md", []byte(before+head+keyTable()+"\n"+after), 0o600))
		return
	}
	table, _, ok := strings.Cut(rest, "\n\n")
	require.True(t, ok)
	assert.Equal(t, keyTable(), table+"\n", "go test -run Readme -update writes it")
}

func TestKeysAreOfOneAction(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range svg.Keys() {
		for key := range strings.SplitSeq(k.Keys, " ") {
			assert.False(t, seen[key], key)
			seen[key] = true
		}
	}
}
