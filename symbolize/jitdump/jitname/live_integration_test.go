//go:build integration

package jitname

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const javaSource = `
public class Hot {
	static int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s += Math.sqrt(i); return s; }
	public static void main(String[] a) {
		long x = 0;
		for (int i = 0; i < 200000; i++) x += inner(1000);
		System.out.println(x > 0 ? "done" : "");
	}
}
`

const nodeSource = `
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
let x = 0;
for (let i = 0; i < 200000; i++) x += inner(1000);
console.log(x > 0 ? 'done' : '');
`

// perfMap runs a program in dir to its end and returns the names in its map.
func perfMap(t *testing.T, dir, name string, args ...string) (names []string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	file := fmt.Sprintf("/tmp/perf-%d.map", cmd.Process.Pid)
	t.Cleanup(func() { _ = os.Remove(file) })
	require.NoError(t, cmd.Wait())
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		require.Len(t, f, 3, line)
		names = append(names, f[2])
	}
	return names
}

func TestNamesOfARealJVM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Hot.java"), []byte(javaSource), 0o600))
	names := perfMap(t, dir, "java", "-XX:-UsePerfData", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "Hot.java")
	methods, inner := 0, false
	for _, raw := range names {
		n := Parse(raw, JVM)
		assert.Equal(t, JVM, n.Runtime, raw)
		if !strings.Contains(raw, "(") || !strings.Contains(raw, " ") || strings.HasPrefix(raw, "StubRoutines") {
			continue
		}
		methods++
		assert.Equal(t, n, Parse(raw, Other), "a method is known for one without the process")
		assert.NotContains(t, n.Name, " ", raw)
		assert.NotContains(t, n.Name, "(", raw)
		inner = inner || n.Name == "Hot.inner"
	}
	assert.Greater(t, methods, 100)
	assert.True(t, inner)
}

func TestNamesOfARealNode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "hot script.js")
	require.NoError(t, os.WriteFile(script, []byte(nodeSource), 0o600))
	names := perfMap(t, dir, "node", "--perf-basic-prof", "--no-logfile-per-isolate", "--logfile="+filepath.Join(dir, "v8.log"), script)
	tiers := map[string]bool{}
	for _, raw := range names {
		n := Parse(raw, Other)
		require.Equal(t, V8, n.Runtime, raw)
		if strings.HasPrefix(raw, "JS:") {
			assert.NotEmpty(t, n.Tier, raw)
			assert.NotEmpty(t, n.File, raw)
			assert.NotZero(t, n.StartLine, raw)
		}
		if strings.Contains(raw, "inner ") {
			assert.Equal(t, Name{V8, "inner", raw, n.Tier, script, 2, 15}, n)
			tiers[n.Tier] = true
		}
	}
	assert.True(t, tiers["interpreted"] && tiers["turbofan"], "%v", tiers)
}
