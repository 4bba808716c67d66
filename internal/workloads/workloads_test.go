package workloads

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBurnCallsSevenToThree(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(Burn.Build(t, "burn"), "0.1").Output()
	require.NoError(t, err)
	counts := regexp.MustCompile(`heavy (\d+), light (\d+)`).FindSubmatch(out)
	require.NotNil(t, counts, "output: %s", out)
	heavy, err := strconv.Atoi(string(counts[1]))
	require.NoError(t, err)
	light, err := strconv.Atoi(string(counts[2]))
	require.NoError(t, err)
	assert.Positive(t, light)
	assert.Equal(t, 7*light, 3*heavy)
}

func TestWorkloadsBuildAndEnd(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]Workload{
		"cpu_bound": CPUBound, "cpu_bound_nofp": CPUBoundNoFP, "zero_reader": ZeroReader, "spin_short": SpinShort,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(w.Build(t, name), "0.05").CombinedOutput()
			assert.NoError(t, err, "output: %s", out)
		})
	}
}

// The leaf functions have to set up a frame, or their callers are missing from
// stacks that are followed by frame pointer.
func TestLeafFunctionsHaveFrames(t *testing.T) {
	t.Parallel()
	for function, w := range map[string]Workload{"helper": Burn, "spin_inner": SpinShort, "pump": ZeroReader} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--disassemble="+function, w.Build(t, function)).Output()
			require.NoError(t, err)
			assert.Regexp(t, `<`+function+`>:\n.*push +%rbp\n.*mov +%rsp,%rbp`, string(out))
		})
	}
}

func TestEverySourceIsListed(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(Source("README.md"))
	require.NoError(t, err)
	files, err := filepath.Glob(Source("*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		if base := filepath.Base(file); base != "README.md" {
			assert.Contains(t, string(readme), "`"+base+"`")
		}
	}
}
