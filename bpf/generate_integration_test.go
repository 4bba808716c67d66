//go:build integration && linux

package bpf

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The committed objects are what the pinned compiler makes of the sources.
func TestObjectsAreUpToDate(t *testing.T) {
	source, err := os.ReadFile("generate.go")
	require.NoError(t, err)
	out := t.TempDir()
	commands := 0
	for line := range strings.Lines(string(source)) {
		command, ok := strings.CutPrefix(line, "//go:generate go tool bpf2go ")
		if !ok {
			continue
		}
		commands++
		args := append([]string{"tool", "bpf2go", "-output-dir", out}, strings.Fields(command)...)
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "GOPACKAGE=bpf")
		msg, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s (make test installs clang-14, llvm-14 and libbpf-dev)", msg)
	}
	require.NotZero(t, commands)
	made, err := filepath.Glob(filepath.Join(out, "*"))
	require.NoError(t, err)
	require.Len(t, made, 4*commands) // two files for each of two architectures
	for _, name := range made {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Base(name))
		require.NoError(t, err)
		require.Equal(t, want, got, "%s differs: run make generate", filepath.Base(name))
	}
}
