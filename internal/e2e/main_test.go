//go:build integration

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// root is the folder of the module, relative to this package.
var root = filepath.Join("..", "..")

// The programs under test, built once for all tests of the package.
var otelcolPath, flametelPath string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "flametel-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()

	otelcolPath = filepath.Join(dir, "otelcol")
	flametelPath = filepath.Join(dir, "flametel")
	for path, source := range map[string]string{
		otelcolPath:  filepath.Join(root, "cmd", "otelcol"),
		flametelPath: filepath.Join(root, "cmd", "flametel"),
	} {
		if err := build(path, source); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// build compiles with the flags of the Makefile, so that the build cache serves both.
func build(out, source string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-o", out, ".")
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", source, err, msg)
	}
	return nil
}
