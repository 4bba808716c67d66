package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
)

func TestManualPage(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "man", "record")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	golden.Check(t, "man_record.1", p.stdout.String())
}

// Every page is one that groff has nothing to say against, and has every flag.
func TestAllManualPages(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "man", "--folder", ".")
	require.Zero(t, p.run(), "%s", p.stderr.String())
	assert.Contains(t, p.files(), "flametel.1")
	assert.Contains(t, p.files(), "flametel-top.1")
	groff, err := exec.LookPath("groff")
	require.NoError(t, err, "make setup-test installs it")
	for _, name := range p.files() {
		out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-P-c", filepath.Join(p.Dir, name)).CombinedOutput()
		require.NoError(t, err, "%s", out)
		text := regexp.MustCompile(".\b").ReplaceAllString(string(out), "") // bold is struck twice
		assert.NotContains(t, text, "warning:", name)
		assert.Contains(t, text, "NAME", name)
		assert.Contains(t, text, "SEE ALSO", name)
	}
	code := 0
	page := p.file("flametel-record.1")
	for _, flag := range flagNames(newRecord(nil, &code)) {
		assert.Contains(t, page, `\-\-`+strings.ReplaceAll(flag, "-", `\-`))
	}
}

func TestManualPageOfNothing(t *testing.T) {
	t.Parallel()
	p := flametel(t, "samples", "man", "recrd")
	assert.Equal(t, 2, p.run())
	assert.Contains(t, p.stderr.String(), `unknown command "recrd"; did you mean record?`)
	missing := flametel(t, "samples", "man", "--folder", "missing")
	assert.Equal(t, 1, missing.run())
	assert.Contains(t, missing.stderr.String(), "missing/")
}

// Each shell takes its script.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, check := range map[string][]string{"bash": {"bash", "-n"}, "zsh": {"zsh", "-n"}, "fish": {"fish", "--no-execute"}} {
		p := flametel(t, "samples", "completion", shell)
		require.Zero(t, p.run(), "%s", p.stderr.String())
		assert.Contains(t, p.stdout.String(), "flametel")
		script := filepath.Join(t.TempDir(), "script")
		require.NoError(t, os.WriteFile(script, []byte(p.stdout.String()), 0o600))
		out, err := exec.Command(check[0], append(check[1:], script)...).CombinedOutput()
		assert.NoError(t, err, "%s: %s (make setup-test installs it)", shell, out)
	}
	p := flametel(t, "samples", "completion", "tcsh")
	assert.Equal(t, 2, p.run())
	assert.Contains(t, p.stderr.String(), `"tcsh" is not one of bash, zsh, fish`)
}

// completed is what a shell would offer.
func completed(t *testing.T, args ...string) string {
	t.Helper()
	p := flametel(t, "samples", append([]string{"__complete"}, args...)...)
	require.Zero(t, p.run(), "%s", p.stderr.String())
	return p.stdout.String()
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "record\tRecord a profile and write it as a flame graph or in other formats\n:4\n", completed(t, "rec"))
	assert.Equal(t, "--frequency\tsamples per second and CPU, 1 to 9999\n:4\n", completed(t, "record", "--freq"))
	assert.Equal(t, "svg\nfolded\npprof\nspeedscope\n:4\n", completed(t, "record", "--format", ""))
	assert.Equal(t, "process\nthread\nnone\n:4\n", completed(t, "record", "--merge", "th"), "the shell picks")
	assert.Contains(t, completed(t, "record", "-p", ""), "\n:36\n", "no files, in this order")
	assert.Contains(t, completed(t, "record", "--", ""), ":0\n", "a command: files")
	assert.Contains(t, completed(t, "record", "-o", ""), ":0\n", "files")
	assert.Equal(t, ":4\n", completed(t, "record", "-d", ""))
	assert.Contains(t, completed(t, "completion", ""), "bash\nzsh\nfish\n")
	assert.NotContains(t, completed(t, "record", "--"), "\t\n", "every flag is described")
}

func TestProcessesAreOfferedByNumberAndName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for pid, comm := range map[string]string{"12": "nginx\n", "13": "bad\x1b[2J\n", "notes": "x\n"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, pid), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, pid, "comm"), []byte(comm), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(root, pid, "cmdline"), []byte("x\x00"), 0o644))
	}
	assert.Equal(t, []string{"12\tnginx", `13` + "\t" + `bad\x1b[2J`}, processes(root))
}

func TestCgroupsAreOffered(t *testing.T) {
	t.Parallel()
	root, other := t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "system.slice", "nginx.service"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "user.slice"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(other, "batch"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(other, "user.slice"), 0o755))
	assert.Equal(t, []string{"/system.slice", "/user.slice"}, cgroups([]string{root}, ""))
	assert.Equal(t, []string{"/batch", "/system.slice", "/user.slice"}, cgroups([]string{root, other}, ""), "of two trees")
	assert.Equal(t, []string{"/system.slice/nginx.service"}, cgroups([]string{other, root}, "/system.slice/ng"))
	assert.Empty(t, cgroups([]string{root}, "/../../etc/"))
}
