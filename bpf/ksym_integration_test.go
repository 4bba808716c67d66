//go:build integration && linux

package bpf

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the iterator says is what kallsyms says to a reader who may see it.
func TestKernelSymbolsAgreeWithKallsyms(t *testing.T) {
	r, err := KernelSymbols()
	require.NoError(t, err)
	iterated := functions(t, bufio.NewScanner(r))
	require.NoError(t, r.Close())
	f, err := os.Open("/proc/kallsyms")
	require.NoError(t, err)
	defer f.Close()
	listed := functions(t, bufio.NewScanner(f))
	require.Greater(t, len(listed), 10000)
	missing := 0
	for name, address := range listed {
		if iterated[name] != address {
			missing++
		}
	}
	// Other programs come and go meanwhile.
	require.Less(t, missing, 100)
	require.Contains(t, iterated, "schedule")
}

// functions reads the addresses of the kernel's own functions by name.
func functions(t *testing.T, lines *bufio.Scanner) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && strings.EqualFold(fields[1], "t") {
			found[fields[2]] = strings.TrimLeft(fields[0], "0")
		}
	}
	require.NoError(t, lines.Err())
	return found
}
