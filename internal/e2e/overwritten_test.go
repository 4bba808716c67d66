//go:build integration

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spinFor uses so many milliseconds of CPU time, whatever the load is, and its
// thread has the name of the function.
const spinFor = `
#include <sys/prctl.h>
#include <time.h>
static volatile long sum;
__attribute__((noinline)) void name_of_%[1]s(void) {
	for (int i = 0; i < 100000; i++) sum += i;
}
int main(void) {
	prctl(PR_SET_NAME, "thread_%[1]s");
	while (clock() < %[2]d * (CLOCKS_PER_SEC / 1000)) name_of_%[1]s();
}
`

// A program that is overwritten in place as soon as it has ended, again and
// again, has the names of what ran: the thread says itself which of two it was.
func TestProgramOverwrittenInPlaceHasItsNames(t *testing.T) {
	t.Parallel()
	for kind, flag := range map[string]string{"with build ID": "-Wl,--build-id", "without": "-Wl,--build-id=none"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, millis := range map[string]int{"first": 100, "second": 300} {
				source := filepath.Join(dir, name+".c")
				require.NoError(t, os.WriteFile(source, fmt.Appendf(nil, spinFor, name, millis), 0o600))
				out, err := exec.Command("gcc", "-O1", "-fno-omit-frame-pointer", flag, "-o", filepath.Join(dir, name), source).CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			prog := "over-" + kind[:4]
			loop := exec.Command("sh", "-c", "while :; do for p in first second; do cat $p >"+prog+" && chmod 755 "+prog+" && ./"+prog+"; done; done")
			loop.Dir = dir
			loop.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			require.NoError(t, loop.Start())
			t.Cleanup(func() {
				_ = syscall.Kill(-loop.Process.Pid, syscall.SIGKILL)
				_ = loop.Wait()
			})
			record := exec.Command(flametelPath, "record", "-d", "10", "-F", "199", "--per-thread", "-p", fmt.Sprint(loop.Process.Pid), "-o", "out.folded")
			record.Dir = dir
			out, err := record.CombinedOutput()
			require.NoError(t, err, "%s", out)

			all := readFolded(t, filepath.Join(dir, "out.folded"))
			named, unnamed := int64(0), int64(0)
			for which, other := range map[string]string{"first": "second", "second": "first"} {
				own := all.with(func(frames []string) bool {
					return len(frames) > 1 && strings.HasPrefix(frames[1], "thread_"+which+" ")
				})
				right := own.within("name_of_" + which).total()
				nameless := own.with(func(frames []string) bool {
					return strings.HasPrefix(frames[len(frames)-1], "["+prog+"]+0x")
				}).total()
				t.Logf("%s: %d named, %d not", which, right, nameless)
				assert.Positive(t, right, which)
				assert.Zero(t, own.within("name_of_"+other).total(), "a name is that of the file that ran: %v", own)
				named, unnamed = named+right, unnamed+nameless
			}
			require.Greater(t, named+unnamed, int64(100))
			assert.GreaterOrEqual(t, float64(named)/float64(named+unnamed), 0.4, "hardly any is unnamed on a quiet machine")
		})
	}
}

// within returns the stacks that a function is in.
func (s stacks) within(function string) stacks {
	return s.with(func(frames []string) bool {
		for _, f := range frames {
			if f == function {
				return true
			}
		}
		return false
	})
}
