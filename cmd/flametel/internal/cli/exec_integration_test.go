//go:build integration

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chainProgram does a number of things and then becomes another program.
const chainProgram = `
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
	long calls = atol(argv[1]), opens = atol(argv[2]), faults = atol(argv[3]);
	for (long i = 0; i < calls; i++) syscall(SYS_getppid);
	for (long i = 0; i < opens; i++) open("/no/such/file", O_RDONLY);
	char *p = mmap(0, faults << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, faults << 12, MADV_NOHUGEPAGE);
	for (long i = 0; i < faults; i++) p[i << 12] = 1;
	if (argc > 4) execv(argv[4], argv + 4);
	return 0;
}
`

// What a process did before an exec is that of the program that it ran then, and
// nothing is that of the launcher that waits to become it.
func TestProgramsOfOneProcessAreKeptApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source := filepath.Join(dir, "chain.c")
	require.NoError(t, os.WriteFile(source, []byte(chainProgram), 0o600))
	for _, name := range []string{"first", "second"} {
		out, err := exec.Command("gcc", "-O1", "-o", filepath.Join(dir, name), source).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	program := []string{"./first", "5000", "400", "1000", "./second", "1000", "100", "3000"}
	for kind, want := range map[string]map[string]int64{
		"syscalls":   {"first;syscall:getppid": 5000, "second;syscall:getppid": 1000},
		"file_opens": {"first;/no/such/file": 400, "second;/no/such/file": 100},
	} {
		got := leaves(t, dir, kind, program)
		for what, n := range want {
			assert.Equal(t, n, got[what], "%s: %v", what, got)
		}
		for what := range got {
			assert.Regexp(t, "^(first|second);", what, "nothing but what was asked for ran")
		}
		assert.NotContains(t, got, "first;syscall:futex", "only the launcher has threads")
	}
	faults := leaves(t, dir, "page_faults", program)
	// What starting a program takes comes on top.
	assert.InDelta(t, 1000+90, faults["first;page_fault:minor"], 90)
	assert.InDelta(t, 3000+90, faults["second;page_fault:minor"], 90)
}

// leaves records a kind of a command and returns what stands for each program at
// the leaf.
func leaves(t *testing.T, dir, kind string, command []string) map[string]int64 {
	t.Helper()
	p := flametel(t, realReceiver, append([]string{"record", "-q", "--type", kind, "-o", "chain.folded", "--"}, command...)...)
	p.Dir = dir
	require.Equal(t, 0, p.run(), p.stderr.String())
	counts := map[string]int64{}
	for stack, n := range folded(t, p.file("chain.folded")) {
		frames := strings.Split(stack, ";")
		counts[frames[0]+";"+strings.TrimSuffix(frames[len(frames)-1], "_[k]")] += n
	}
	return counts
}
