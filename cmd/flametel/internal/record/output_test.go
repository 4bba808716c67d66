package record

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultNameNeverReplaces(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 11, 30, 3, 4, 5, 0, time.UTC)
	require.NoError(t, os.WriteFile("profile-web-20261130-030405.svg", []byte("old"), 0o600))
	require.NoError(t, os.Symlink("/nowhere", "profile-web-20261130-030405-1.svg"))
	var names []string
	for range 2 {
		out, err := reserve("web", now, "")
		require.NoError(t, err)
		names = append(names, out.path)
	}
	assert.Equal(t, []string{"profile-web-20261130-030405-2.svg", "profile-web-20261130-030405-3.svg"}, names)
	old, err := os.ReadFile("profile-web-20261130-030405.svg")
	require.NoError(t, err)
	assert.Equal(t, "old", string(old))
}

func TestDefaultNameByFormatAndSubject(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 11, 30, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct{ what, format, want string }{
		{"nginx", "svg", "profile-nginx-20261130-030405.svg"},
		{"nginx", "folded", "profile-nginx-20261130-030405.folded"},
		{"nginx", "pprof", "profile-nginx-20261130-030405.pb.gz"},
		{"nginx", "speedscope", "profile-nginx-20261130-030405.speedscope.json"},
		{"kworker/u4:1", "", "profile-kworker_u4_1-20261130-030405.svg"},
		{"../../etc/x", "", "profile-.._.._etc_x-20261130-030405.svg"},
		{"", "", "profile-host-20261130-030405.svg"},
		{strings.Repeat("x", 500), "", "profile-" + strings.Repeat("x", 64) + "-20261130-030405.svg"},
	} {
		out, err := reserve(test.what, now, test.format)
		require.NoError(t, err)
		assert.Equal(t, test.want, out.path)
	}
}

func TestReservedNameIsGivenBackUnlessWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Now()
	unused, err := reserve("a", now, "")
	require.NoError(t, err)
	used, err := reserve("a", now, "")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(used.path, []byte("x"), 0o600))
	named := output{path: "named.svg"}
	require.NoError(t, os.WriteFile(named.path, nil, 0o600))
	for _, out := range []output{unused, used, named} {
		out.release()
	}
	assert.NoFileExists(t, unused.path)
	assert.FileExists(t, used.path)
	assert.FileExists(t, named.path, "not ours")
}

func TestCheckOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	for _, test := range []struct{ name, path, want string }{
		{"new file", filepath.Join(dir, "new.svg"), ""},
		{"existing file", file, ""},
		{"standard output", "-", ""},
		{"device", "/dev/null", ""},
		{"device that does not exist", "/proc/none.svg", "/proc/none.svg cannot be written, and no file can be made there: no such file or directory; choose another --output"},
		{"missing folder", filepath.Join(dir, "sub", "x.svg"), "folder " + filepath.Join(dir, "sub") + " does not exist; make it or choose another --output"},
		{"folder that is a file", filepath.Join(file, "x.svg"), file + " is not a folder; choose another --output"},
		{"a folder", dir, dir + " is not a regular file; choose another --output"},
		{"nothing can be made there", "/sys/kernel/x.svg", "folder /sys/kernel cannot be written: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := checkOutput(test.path)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	require.NoError(t, err)
	assert.Empty(t, left, "no trace of the probe")
}

func TestKnownExtensionsAreTheExporters(t *testing.T) {
	t.Parallel()
	s := newSettings(t)
	for _, ext := range knownExtensions() {
		out := output{path: "x" + ext}
		opts := valid()
		assert.NoError(t, opts.exporterConfig(s.Exporter, &out).Validate(), ext)
		assert.Contains(t, Formats(), formatByExtension(out.path))
	}
	for format, ext := range extensions {
		assert.Contains(t, Formats(), format)
		assert.Equal(t, format, formatByExtension("x"+ext))
	}
	opts := valid()
	err := opts.exporterConfig(s.Exporter, &output{path: "x", format: "none"}).Validate()
	require.Error(t, err)
	list := regexp.MustCompile(`one of (.*)`).FindStringSubmatch(err.Error())
	require.NotNil(t, list)
	assert.Equal(t, strings.Join(Formats(), ", "), list[1])
}
