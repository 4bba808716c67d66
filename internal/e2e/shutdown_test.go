//go:build integration

package e2e

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// The window is an hour long, so all that the file can hold is the part of a
// window that an interrupt leaves.
func TestInterruptUnderLoadDeliversTheLastWindow(t *testing.T) {
	t.Parallel()
	spinner := workloads.Burn.Build(t, "burn-last")
	var pids []int
	for range 2 * runtime.NumCPU() {
		pids = append(pids, workloads.Start(t, spinner, "600"))
	}
	c := start(t, pipeline(fmt.Sprintf(`{window: 1h, targets: {pids: %s}}`, list(pids))))
	time.Sleep(3 * time.Second) // what is recorded; no wait for anything
	require.NoFileExists(t, c.path("out.folded"), "the window is not over")
	c.interrupt()

	got := readFolded(t, c.path("out.folded"))
	assert.Equal(t, got, got.of("burn-last"))
	assert.NotZero(t, got.through("main", "heavy", "helper").total())
}

// list writes numbers as a YAML list.
func list(numbers []int) string {
	text := "["
	for i, n := range numbers {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(n)
	}
	return text + "]"
}
