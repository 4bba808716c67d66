//go:build unix

package executable

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Programs run at once that are written while others begin.
func TestProgramsRunAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for worker := range 8 {
		name := filepath.Join(dir, string(rune('a'+worker)))
		all.Go(func() {
			for range 50 {
				Write(t, name, []byte("#!/bin/true\n"))
				assert.NoError(t, exec.Command(name).Run())
			}
		})
	}
	all.Wait()
}
