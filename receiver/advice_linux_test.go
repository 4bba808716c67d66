package receiver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

func TestAdviceIsGivenOnceForEachExecutable(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	a := newAdviser(zap.New(core))
	symbols := symbolize.New(symbolize.Options{})
	t.Cleanup(symbols.Close)
	image := func(name string) *symbolize.Process {
		program, err := os.ReadFile("/proc/self/exe")
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(file, program, 0o600))
		p, err := symbols.OpenFile(file)
		require.NoError(t, err)
		return p
	}
	node, own := image("node"), image("own")
	runs := func(exe string) process.Snapshot {
		p := process.Snapshot{Image: own, Identity: &window.Process{ExecutablePath: exe}}
		if filepath.Base(exe) == "node" {
			p.Image = node
		}
		return p
	}
	unnamed := []*symbolize.Frame{{Reason: symbolize.ReasonNone}, {Kind: symbolize.KindJIT, Reason: symbolize.ReasonNoMap}}
	for range 3 {
		a.look(runs("/usr/bin/node"), []*symbolize.Frame{{Reason: symbolize.ReasonNoSymbol}})
		require.Zero(t, logs.Len(), "nothing is missing")
	}
	for range 3 {
		a.look(runs("/usr/bin/node"), unnamed)
		a.look(runs("/opt/own"), unnamed)
	}
	require.Zero(t, logs.Len(), "they may get names until the window ends")
	named := &symbolize.Frame{Lines: []symbolize.Line{{Name: "f"}}}
	a.settle(map[*symbolize.Frame]*symbolize.Frame{unnamed[1]: named})
	require.Zero(t, logs.Len(), "they got them")
	for range 3 {
		a.look(runs("/usr/bin/node"), unnamed)
		a.look(runs("/opt/own"), unnamed)
		a.settle(nil)
	}
	require.Equal(t, 1, logs.Len())
	require.Equal(t, "/usr/bin/node", logs.All()[0].ContextMap()["executable"])
	require.Contains(t, logs.All()[0].ContextMap()["advice"], "--perf-basic-prof")
	for i := range 2 * maxAdvised {
		a.look(runs(fmt.Sprintf("/opt/%d/node", i)), unnamed)
	}
	a.settle(nil)
	require.Equal(t, maxAdvised, logs.Len())
}

func TestMapsThatAreNotReadAreToldOnce(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	a := newAdviser(zap.New(core))
	for range 3 {
		a.refused(map[string]uint64{"too_big": 1, "foreign_owner": 0})
	}
	require.Equal(t, 1, logs.Len())
	require.Equal(t, "too_big", logs.All()[0].ContextMap()["reason"])
	require.Contains(t, logs.All()[0].ContextMap()["advice"], "newest")
	a.refused(map[string]uint64{"too_big": 2, "foreign_owner": 1})
	require.Equal(t, 2, logs.Len())
}
