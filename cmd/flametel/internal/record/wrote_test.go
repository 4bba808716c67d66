package record

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/tally"
)

// Each of several files says what it shows; a type without samples has none.
func TestWroteSaysWhatEachFileShows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("12345"), 0o600))
		return path
	}
	a, b := file("a.svg"), file("a-events.svg")
	r := &recording{Options: &Options{Types: []string{"off_cpu"}}, Settings: &Settings{}, pipeline: &pipeline{tally: tally.New()}}
	r.outputs = []output{{path: a, sampleType: "off_cpu"}, {path: b, sampleType: "events"}, {path: filepath.Join(dir, "none.svg"), sampleType: "cpu"}}
	assert.Equal(t, []string{"wrote " + a + " (5 bytes): time of waits", "wrote " + b + " (5 bytes): number of waits"}, r.wrote(nil))
	r.elapsed = 1e9
	assert.Equal(t, "interrupted after 1.0 s; wrote "+a+" (5 bytes): time of waits", r.wrote(syscall.SIGINT)[0])
	r.outputs = []output{{path: a}, {path: b}}
	assert.Equal(t, []string{"wrote " + a + " (5 bytes), " + b + " (5 bytes)"}, r.wrote(nil))
}
