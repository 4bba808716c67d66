package exporter

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/internal/metadata"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/internal/atomicfile"
)

func TestFactory(t *testing.T) {
	f := NewFactory()
	assert.Equal(t, "flamegraph", f.Type().String())
	assert.NoError(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
	assert.False(t, create(t, config(filepath.Join(t.TempDir(), "p.svg"))).Capabilities().MutatesData)
}

func TestShutdownWithoutStartAndTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.svg")
	e := create(t, config(path))
	require.NoError(t, e.Shutdown(t.Context()))
	assert.NoFileExists(t, path)
	e = create(t, config(path))
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, e.Shutdown(t.Context()))
	assert.Contains(t, string(read(t, path)), "The source sent no samples.")
}

func TestConsumeWhenNotRunningIsPermanent(t *testing.T) {
	e, err := newFileExporter(config(filepath.Join(t.TempDir(), "p.svg")), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	err = e.consume(t.Context(), pprofile.NewProfiles())
	require.ErrorIs(t, err, errNotRunning)
	assert.True(t, consumererror.IsPermanent(err))
}

func TestAllFormatsAgree(t *testing.T) {
	set := stackgen.New(1500, 1)
	var want int64
	deepest := 0
	for _, s := range set.Stacks {
		want += s.Count
		deepest = max(deepest, len(s.Frames))
	}
	for format, name := range fileNames {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			export(t, config(path), set.Profiles())
			total, depth := totals(t, format, read(t, path))
			assert.Equal(t, want, total)
			assert.Equal(t, deepest, depth)
		})
	}
}

func TestFormatsAgreeBeyondFloats(t *testing.T) {
	for format, name := range fileNames {
		path := filepath.Join(t.TempDir(), name)
		export(t, config(path), oneStack("app", 1<<53+1, "main"), oneStack("app", 1<<53+1, "other"))
		total, _ := totals(t, format, read(t, path))
		assert.Equal(t, int64(1<<54+2), total, format)
	}
}

func TestFormatsAgreeWhenCut(t *testing.T) {
	for format, name := range fileNames {
		path := filepath.Join(t.TempDir(), name)
		export(t, config(path), oneStack("app", math.MaxInt64, "main"), oneStack("app", 7, "other"))
		total, _ := totals(t, format, read(t, path))
		assert.Equal(t, int64(math.MaxInt64), total, format)
	}
}

func TestDeepStackThroughAllFormats(t *testing.T) {
	functions := make([]string, 10_000)
	for i := range functions {
		functions[i] = "f" + strings.Repeat("x", i%5)
	}
	p := oneStack("app", 3, functions...)
	for format, name := range fileNames {
		path := filepath.Join(t.TempDir(), name)
		export(t, config(path), p)
		total, depth := totals(t, format, read(t, path))
		assert.Equal(t, int64(3), total, format)
		assert.Equal(t, 10_001, depth, format)
	}
}

// Names that a process can choose with prctl(PR_SET_NAME), a symbol table or a
// perf map, invalid UTF-8 included.
func TestHostileNamesThroughAllFormats(t *testing.T) {
	for _, name := range []string{"a;b c\n<d>&\"e", "abcdefghijklm\xe6\x97", "\xff\xfe", "", " ", "x\x00y", "]]>", "f 12", "\u202e"} {
		p := oneStack(name, 5, name, "leaf 7")
		for format, file := range fileNames {
			path := filepath.Join(t.TempDir(), file)
			export(t, config(path), p)
			total, depth := totals(t, format, read(t, path))
			assert.Equal(t, int64(5), total, "%s %q", format, name)
			assert.Equal(t, 3, depth, "%s %q", format, name)
		}
	}
}

func TestEmptyThroughAllFormats(t *testing.T) {
	for format, name := range fileNames {
		path := filepath.Join(t.TempDir(), name)
		export(t, config(path))
		total, _ := totals(t, format, read(t, path))
		assert.Zero(t, total, format)
	}
}

func TestAnnotationsAndTitle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.folded")
	set := stackgen.New(50, 1)
	export(t, config(path), set.Profiles())
	assert.Contains(t, string(read(t, path)), "_[k]")
	export(t, config(path, func(c *Config) { c.Annotations = false }), set.Profiles())
	assert.NotContains(t, string(read(t, path)), "_[")
	path = filepath.Join(t.TempDir(), "p.svg")
	export(t, config(path, func(c *Config) { c.Title = "A & B" }), set.Profiles())
	assert.Contains(t, string(read(t, path)), "A &amp; B")
}

func TestFileForEachServiceAndType(t *testing.T) {
	dir := t.TempDir()
	export(t, config(filepath.Join(dir, "{service}", "{type}-{host}.folded")),
		oneStack("nginx", 1, "main"), oneStack("../etc", 2, "main"),
		typed("off_cpu", "nanoseconds", "", "nginx", 5, "main"))
	assert.ElementsMatch(t, []string{"nginx", "_._etc-" + hash("../etc")}, names(t, dir))
	assert.ElementsMatch(t, []string{"cpu-host-a.folded", "off_cpu-host-a.folded"}, names(t, filepath.Join(dir, "nginx")))
	assert.Equal(t, "nginx;main 5\n", string(read(t, filepath.Join(dir, "nginx", "off_cpu-host-a.folded"))))
}

func TestTypesNeverShareAFile(t *testing.T) {
	dir := t.TempDir()
	messages := []pprofile.Profiles{
		oneStack("app", 1, "main"),
		typed("off_cpu", "nanoseconds", "", "app", 2, "main"),
		typed("cpu", "nanoseconds", "", "app", 4, "main"),
		typed("off_cpu", "count", "", "app", 8, "main"),
	}
	export(t, config(filepath.Join(dir, "p.folded")), messages...)
	var sum int64
	for _, name := range names(t, dir) {
		total, _ := totals(t, "folded", read(t, filepath.Join(dir, name)))
		sum += total
	}
	assert.Equal(t, int64(15), sum)
	assert.Len(t, names(t, dir), 4)
	assert.Contains(t, names(t, dir), "p.folded")
	assert.Contains(t, names(t, dir), "p-off_cpu.folded")

	dir = t.TempDir()
	export(t, config(filepath.Join(dir, "p.pb.gz")), messages...)
	assert.Equal(t, []string{"p.pb.gz"}, names(t, dir), "a format with room for all types has one file")
}

// withPeriod sets the period of a message's only profile.
func withPeriod(p pprofile.Profiles, period int64) pprofile.Profiles {
	p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).SetPeriod(period)
	return p
}

// A sample at 10 Hz stands for more time than one at 99 Hz.
func TestPeriodsNeverShareAFile(t *testing.T) {
	messages := []pprofile.Profiles{
		withPeriod(oneStack("app", 1, "main"), 1_000_000_000/99), withPeriod(oneStack("app", 2, "main"), 100_000_000),
		withPeriod(oneStack("app", 4, "main"), 100_000_001), withPeriod(oneStack("app", 8, "main"), 1_000_000_000/99),
	}
	for template, want := range map[string]map[string]string{
		"{type}.folded": {"cpu.folded": "app;main 9\n", "cpu-10Hz.folded": "app;main 2\n", "cpu-cpu-nanoseconds.folded": "app;main 4\n"},
		"p.folded":      {"p.folded": "app;main 9\n", "p-cpu-10Hz.folded": "app;main 2\n", "p-cpu-cpu-nanoseconds.folded": "app;main 4\n"},
	} {
		dir := t.TempDir()
		export(t, config(filepath.Join(dir, template)), messages...)
		got := map[string]string{}
		for _, name := range names(t, dir) {
			got[name] = string(read(t, filepath.Join(dir, name)))
		}
		assert.Equal(t, want, got)
	}

	dir := t.TempDir()
	export(t, config(filepath.Join(dir, "p.pb.gz")), append(messages, typed("off_cpu", "nanoseconds", "", "app", 2, "main"))...)
	assert.Equal(t, []string{"p-cpu-10Hz.pb.gz", "p-cpu-cpu-nanoseconds.pb.gz", "p.pb.gz"}, names(t, dir))
	total, _ := totals(t, "pprof", read(t, filepath.Join(dir, "p.pb.gz")))
	assert.Equal(t, int64(9), total, "with off_cpu as a second type")
}

func TestSampleType(t *testing.T) {
	dir := t.TempDir()
	for _, sampleType := range []string{"cpu", "samples"} {
		path := filepath.Join(dir, sampleType+".folded")
		export(t, config(path, func(c *Config) { c.SampleType = sampleType }),
			oneStack("app", 1, "main"), typed("off_cpu", "nanoseconds", "", "app", 2, "main"))
		assert.Equal(t, "app;main 1\n", string(read(t, path)))
	}
	assert.Len(t, names(t, dir), 2)
}

func TestStandardOutput(t *testing.T) {
	e, err := newFileExporter(config("-"), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	var out bytes.Buffer
	e.stdout = &out
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.consume(t.Context(), oneStack("app", 3, "main")))
	require.NoError(t, e.consume(t.Context(), typed("off_cpu", "nanoseconds", "", "app", 2, "main")))
	assert.Empty(t, out.String())
	require.NoError(t, e.shutdown(t.Context()))
	assert.Equal(t, "app;main 3\n", out.String(), "one sample type only")
}

func TestIntervals(t *testing.T) {
	dir := t.TempDir()
	e := create(t, config(filepath.Join(dir, "{type}-{start}.folded"), func(c *Config) { c.Interval = time.Second }))
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, e.ConsumeProfiles(t.Context(), oneStack("app", 3, "main")))
	require.Eventually(t, func() bool { return len(names(t, dir)) == 1 }, time.Minute, 10*time.Millisecond)
	require.NoError(t, e.ConsumeProfiles(t.Context(), oneStack("app", 4, "main")))
	require.NoError(t, e.Shutdown(t.Context()))
	files := names(t, dir)
	require.Len(t, files, 2, "the last interval is written at shutdown")
	var sum int64
	for _, name := range files {
		assert.Regexp(t, `^cpu-\d{8}T\d{6}Z\.folded$`, name)
		total, _ := totals(t, "folded", read(t, filepath.Join(dir, name)))
		sum += total
	}
	assert.Equal(t, int64(7), sum)
}

func TestClockThatStepsBackNeverReusesAName(t *testing.T) {
	dir := t.TempDir()
	e, err := newFileExporter(config(filepath.Join(dir, "{start}.folded"), func(c *Config) { c.Interval = time.Hour }), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	now := stackgen.Start()
	e.now = func() time.Time { return now }
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	for range 3 {
		require.NoError(t, e.consume(t.Context(), oneStack("app", 1, "main")))
		now = now.Add(-time.Minute)
		require.NoError(t, e.write(periodic))
	}
	require.NoError(t, e.shutdown(t.Context()))
	assert.Equal(t, []string{"20260102T030405Z.folded", "20260102T030406Z.folded", "20260102T030407Z.folded"}, names(t, dir))
}

func TestOneFileIsRewritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.folded")
	e, err := newFileExporter(config(path), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	require.NoError(t, e.start(t.Context(), componenttest.NewNopHost()))
	for _, want := range []string{"app;main 2\n", "app;main 4\n"} {
		require.NoError(t, e.consume(t.Context(), oneStack("app", 2, "main")))
		require.NoError(t, e.write(periodic))
		assert.Equal(t, want, string(read(t, path)))
	}
	require.NoError(t, e.shutdown(t.Context()))
	assert.Equal(t, "app;main 4\n", string(read(t, path)))
	assert.Len(t, names(t, filepath.Dir(path)), 1, "no temporary file is left")
}

func TestDataIsOnlyRead(t *testing.T) {
	p := stackgen.New(100, 1).Profiles()
	p.MarkReadOnly()
	export(t, config(filepath.Join(t.TempDir(), "p.svg")), p)
}

func TestAccountingReachesTheFile(t *testing.T) {
	p := pprofile.NewProfiles()
	d := p.Dictionary()
	d.AttributeTable().AppendEmpty()
	for _, s := range []string{"", "samples", "count", "cpu", "nanoseconds", "flametel.samples.taken", "flametel.samples.idle"} {
		d.StringTable().Append(s)
	}
	rp := p.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutBool("flametel.accounting", true)
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(1)
	prof.SampleType().SetUnitStrindex(2)
	prof.PeriodType().SetTypeStrindex(3)
	prof.PeriodType().SetUnitStrindex(4)
	for i := range 2 {
		kv := d.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(int32(5 + i))
		kv.Value().SetInt(1234)
		prof.AttributeIndices().Append(int32(i + 1))
	}
	path := filepath.Join(t.TempDir(), "p.svg")
	export(t, config(path), p)
	assert.Contains(t, string(read(t, path)), "1,234 samples were taken, all of idle CPUs.")
}

func TestStartFailsOnAFolderThatCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	e := create(t, config(filepath.Join(file, "sub", "p.svg")))
	err := e.Start(t.Context(), componenttest.NewNopHost())
	require.Error(t, err)
	assert.Equal(t, "folder "+filepath.Join(file, "sub")+" cannot be made; choose another path or make it writable: not a directory", err.Error())
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestStartFailsOnAFolderThatCannotBeWritten(t *testing.T) {
	// Not even root can make a file in /proc.
	err := atomicfile.PrepareFolder("/proc/self")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "folder /proc/self cannot be written; choose another path or make it writable: ")
}

func TestStartFailsOnADeviceThatDoesNotExist(t *testing.T) {
	for _, path := range []string{"/proc/flametel-none.svg", "/proc/{type}.svg", "/dev/flametel-none.svg"} {
		err := create(t, config(path)).Start(t.Context(), componenttest.NewNopHost())
		require.Error(t, err)
		assert.Equal(t, path+" cannot be written, and no file can be made there; choose another path: no such file or directory", err.Error())
	}
}

func TestSharedMemoryHoldsOrdinaryFiles(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "flametel-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "p.folded")
	export(t, config(path), oneStack("app", 1, "main"))
	assert.Equal(t, "app;main 1\n", string(read(t, path)))
}

func TestFailedWritesAreReportedOnceAndSoIsRecovery(t *testing.T) {
	e, err := newFileExporter(config(filepath.Join(t.TempDir(), "p.svg")), exportertest.NewNopSettings(metadata.Type))
	require.NoError(t, err)
	h := &statusHost{}
	e.host = h
	e.report(nil)
	e.report(errors.New("disk full"))
	e.report(errors.New("disk full"))
	e.report(nil)
	e.report(nil)
	assert.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, h.seen)
}

func TestShutdownReturnsTheErrorOfTheLastWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out", "p.svg")
	e := create(t, config(path))
	require.NoError(t, e.Start(t.Context(), componenttest.NewNopHost()))
	require.NoError(t, os.Mkdir(path, 0o700))
	err := e.Shutdown(t.Context())
	require.Error(t, err)
	assert.Equal(t, "write "+path+": it is a folder, not a regular file; choose another path", err.Error())
}

func TestWriteFileKeepsTheOldFileOnFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.svg")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return errors.New("encoder broke")
	})
	assert.ErrorContains(t, err, "encoder broke")
	assert.Equal(t, "old", string(read(t, path)))
	assert.Equal(t, []string{"p.svg"}, names(t, filepath.Dir(path)))
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "p.folded")
	export(t, config(path), oneStack("app", 1, "main"))
	st, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	st, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), st.Mode().Perm())
}

func TestLinksAreReplacedNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "p.folded")
	require.NoError(t, os.WriteFile(victim, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(victim, path))
	export(t, config(path), oneStack("app", 1, "main"))
	assert.Equal(t, "precious", string(read(t, victim)))
	assert.Equal(t, "app;main 1\n", string(read(t, path)))
}

func TestDevicesAreWrittenInPlace(t *testing.T) {
	export(t, config("/dev/null", func(c *Config) { c.Format = "folded" }), oneStack("app", 1, "main"))
	st, err := os.Lstat("/dev/null")
	require.NoError(t, err)
	assert.NotZero(t, st.Mode()&os.ModeCharDevice)
}
