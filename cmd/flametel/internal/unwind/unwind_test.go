package unwind

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const source = "int f(int x){volatile int a[9]; a[x%9]=x; return a[0];} int main(int c,char**v){return f(c);}"

func TestFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o600))
	cmd := exec.Command("gcc", "-O2", "-fomit-frame-pointer", "-o", "a", "a.c")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var b bytes.Buffer
	require.NoError(t, Run(&b, &Options{File: filepath.Join(dir, "a"), Rows: true}))
	assert.Regexp(t, `/a\ncan be walked by its unwind information: \d+ functions, \d+\.\d% of the code; the other \d+\.\d% by frame pointer\n`, b.String())
	assert.Contains(t, b.String(), "complete true")
	assert.Contains(t, b.String(), "cfa=sp+8")
	assert.Contains(t, b.String(), "end: no caller", "_start")
}

func TestProcess(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Run(&b, &Options{PID: os.Getpid()}))
	self, err := os.Executable()
	require.NoError(t, err)
	assert.Contains(t, b.String(), self)
	assert.Contains(t, b.String(), "go code")
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no ELF file"), 0o600))
	for name, o := range map[string]Options{
		"no such file":  {File: filepath.Join(dir, "absent")},
		"folder":        {File: dir},
		"not ELF":       {File: text},
		"no process":    {PID: 4194304},
		"kernel thread": {PID: 2},
	} {
		assert.Error(t, Run(&bytes.Buffer{}, &o), name)
	}
}
