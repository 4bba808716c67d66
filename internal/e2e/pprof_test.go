//go:build integration

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/workloads"
)

// Mappings in pprof files are such that pprof, which then forgets our names and
// reads the program itself, comes to the same: wherever the linker put the code.
func TestPprofComesToTheSameNames(t *testing.T) {
	t.Parallel()
	for layout, flags := range map[string][]string{
		"position independent":     {"-pie"},
		"fixed address":            {"-no-pie", "-fno-pie"},
		"one segment":              {"-no-pie", "-fno-pie", "-static", "-Wl,-z,noseparate-code"},
		"code moved by the linker": {"-Wl,--section-start=.text=0x15000"},
	} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			prog := filepath.Join(dir, "layout")
			args := append([]string{"-g", "-O1", "-fno-omit-frame-pointer", "-o", prog, workloads.Source("burn.c")}, flags...)
			out, err := exec.Command("gcc", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			pid := workloads.Start(t, prog, "600")
			record := exec.Command(flametelPath, "record", "-d", "3", "-F", "199", "-p", fmt.Sprint(pid), "-o", "out.pb.gz")
			record.Dir = dir
			out, err = record.CombinedOutput()
			require.NoError(t, err, "%s", out)
			ours, theirs := pprofTop(t, dir, "none"), pprofTop(t, dir, "local:force")
			require.GreaterOrEqual(t, len(ours), 3)
			assert.Equal(t, "helper", ours[0])
			for _, function := range []string{"helper", "heavy", "light", "main"} {
				assert.Contains(t, ours, function)
				assert.Contains(t, theirs, function)
			}
			assert.Equal(t, ours[0], theirs[0])
		})
	}
}

// pprofTop returns the functions that pprof lists, those with most samples of
// their own first.
func pprofTop(t *testing.T, dir, symbolize string) (functions []string) {
	t.Helper()
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodefraction=0", "-symbolize="+symbolize, filepath.Join(dir, "out.pb.gz"))
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+dir)
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	_, table, found := strings.Cut(string(out), "cum%\n")
	require.True(t, found, "%s", out)
	for line := range strings.Lines(table) {
		if words := strings.Fields(line); len(words) >= 6 {
			functions = append(functions, words[5])
		}
	}
	return functions
}
