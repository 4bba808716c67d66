package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

func TestNamesThatAreWrittenLate(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	a, b, c := j.at(5), j.at(0x15), j.at(0x25)
	for _, f := range []*Frame{a, b, c} {
		require.Equal(t, ReasonNoMap, f.Reason)
	}
	j.write(t, "7f0000000000 10 first\n7f0000000010 10 second\n")
	second := j.at(0x15)
	require.Equal(t, "second", name(second))
	names := j.s.Settle(time.Minute)
	require.Len(t, names, 2)
	assert.Equal(t, "first", name(names[a]))
	assert.Equal(t, addr.File(base+5), names[a].Address)
	assert.Same(t, a.Module, names[a].Module)
	assert.Same(t, second, names[b], "the frame that newer stacks have")
	assert.Same(t, names[a], j.at(5))
	assert.Empty(t, name(a), "frames are never changed")
	assert.Empty(t, j.s.Settle(time.Minute), "each is told once")
}

// A map that is written when a process ends is read after it has ended.
func TestNamesThatAreWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	f := j.at(5)
	require.Equal(t, ReasonNoMap, f.Reason)
	// Its /tmp is its own, so that nobody gets there any more by a name.
	hidden := filepath.Join(t.TempDir(), "tmp")
	require.NoError(t, os.Rename(filepath.Dir(j.file), hidden))
	require.NoError(t, os.WriteFile(filepath.Join(hidden, filepath.Base(j.file)), []byte("7f0000000000 10 f\n"), 0o600))
	require.NoError(t, os.RemoveAll(filepath.Join(j.proc, "7")))
	names := j.s.Settle(time.Minute)
	assert.Equal(t, "f", name(names[f]))
	assert.Equal(t, "f", name(j.at(6)), "and so is what is sampled last")
	// As soon as nothing is asked for any more, the folder is no longer held.
	require.NotNil(t, j.p.jit.place)
	j.s.Settle(time.Minute)
	assert.Nil(t, j.p.jit.place)
	assert.Empty(t, j.s.settling)
}

// Programs that end before any of their code is looked up are found all the
// same, if their runtime may write a map when it ends.
func TestNamesOfShortProcesses(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/usr/lib/jvm/lib/server/libjvm.so": "f", "/usr/lib/libother.so": ""} {
		j := newJIT(t)
		j.s.Open(7, procmap.Mapping{Start: base - 0x10000, Limit: base, Inode: 5, Path: path, Executable: true})
		hidden := filepath.Join(t.TempDir(), "tmp")
		require.NoError(t, os.Rename(filepath.Dir(j.file), hidden))
		require.NoError(t, os.WriteFile(filepath.Join(hidden, filepath.Base(j.file)), []byte("7f0000000000 10 f\n"), 0o600))
		require.NoError(t, os.RemoveAll(filepath.Join(j.proc, "7")))
		assert.Equal(t, want, name(j.at(5)))
		for range earlySettles {
			j.s.Settle(time.Minute)
		}
		assert.Zero(t, opensOf(t, hidden))
	}
}

func TestEarlyPlacesAreBounded(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	tmp := filepath.Dir(j.file)
	jvm := procmap.Mapping{Start: base - 0x10000, Limit: base, Inode: 5, Path: "/libjvm.so", Executable: true}
	for pid := range maxEarly + 10 {
		require.NoError(t, os.Symlink("7", filepath.Join(j.proc, fmt.Sprint(100+pid))))
		j.s.Open(100+pid, jvm)
		j.s.Open(100+pid, jvm)
	}
	assert.Equal(t, maxEarly, opensOf(t, tmp))
	j.s.Settle(time.Minute)
	assert.Equal(t, maxEarly, opensOf(t, tmp))
	j.s.Settle(time.Minute)
	assert.Zero(t, opensOf(t, tmp))
	j.s.Open(100, jvm)
	assert.Equal(t, 1, opensOf(t, tmp))
	j.s.Close()
	j.s.Open(101, jvm)
	assert.Zero(t, opensOf(t, tmp))
}

// Code that was replaced before its name was written cannot be told from its
// successor.
func TestContestedNamesStayAway(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	a, b := j.at(5), j.at(0x15)
	j.write(t, "7f0000000000 10 old\n7f0000000010 10 same\n7f0000000000 10 new\n7f0000000010 10 same\n")
	names := j.s.Settle(time.Minute)
	assert.Nil(t, names[a])
	assert.Equal(t, "same", name(names[b]))
	assert.Equal(t, "new", name(j.at(5)), "what runs from now on")
	assert.Empty(t, j.s.Settle(time.Minute))
}

// Names must not wait for a file that does not answer.
func TestSettleWaitsOnlySoLong(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.at(5)
	hung := make(chan jitResult, 1)
	j.p.jit.reading = hung
	during := j.at(0x15)
	assert.Same(t, during, j.at(0x15), "not another frame each time")
	begin := time.Now()
	assert.Empty(t, j.s.Settle(20*time.Millisecond))
	assert.Less(t, time.Since(begin), 10*time.Second)
	require.Len(t, j.s.settling, 1, "its readers are to be taken back")
	hung <- jitResult{}
	assert.Empty(t, j.s.Settle(time.Minute))
	assert.Nil(t, j.p.jit.reading)
	assert.Empty(t, j.s.settling)
	j.write(t, "7f0000000010 10 f\n")
	assert.Equal(t, "f", name(j.at(0x15)))
}

func TestWhatIsRememberedToSettleIsBounded(t *testing.T) {
	t.Parallel()
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	t.Cleanup(s.Close)
	big := process(s, procmap.Mapping{Start: base, Limit: base + 1<<30})
	for i := range addr.Virtual(maxUnsettled + 100) {
		one(s, big, base+i)
	}
	assert.Len(t, big.jit.unsettled, maxUnsettled)
	for i := range maxSettling + 10 {
		m := procmap.Mapping{Start: base, Limit: base + 4096}
		p := NewProcess(1000+i, 0).With([]Mapped{{Mapping: m, Object: s.Open(1000+i, m)}})
		one(s, p, base)
	}
	assert.Len(t, s.settling, maxSettling)
	assert.Empty(t, s.Settle(time.Minute))
	assert.Empty(t, big.jit.unsettled)
}

func TestNamesAreGivenBackBeforeTheySettle(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	f := j.at(5)
	j.write(t, "7f0000000000 10 f\n")
	j.s.opts.MaxCacheBytes = 1
	j.s.User(NewProcess(8, 0), nil, nil)
	require.Positive(t, j.s.Stats().Evictions)
	assert.Nil(t, j.s.Settle(time.Minute)[f])
	assert.Zero(t, j.s.Stats().CacheBytes)
}

func TestPlacesAreClosedWithTheSymbolizer(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.at(5)
	tmp := filepath.Dir(j.file)
	require.Equal(t, 1, opensOf(t, tmp))
	j.s.Close()
	assert.Zero(t, opensOf(t, tmp))
	j.c.now = j.c.now.Add(jitInterval)
	j.at(5)
	assert.Zero(t, opensOf(t, tmp), "nor is it opened any more")
}

// opensOf counts the descriptors of this process for a file.
func opensOf(t *testing.T, file string) (n int) {
	t.Helper()
	fds, err := filepath.Glob("/proc/self/fd/*")
	require.NoError(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == file {
			n++
		}
	}
	return n
}

func BenchmarkUnnamedGeneratedCode(b *testing.B) {
	s := New(Options{ProcRoot: b.TempDir()})
	defer s.Close()
	m := procmap.Mapping{Start: base, Limit: base + 1<<20}
	p := NewProcess(7, 0).With([]Mapped{{Mapping: m, Object: s.Open(7, m)}})
	var pcs []addr.Virtual
	for i := range addr.Virtual(20) {
		pcs = append(pcs, base+i*64)
	}
	var frames []*Frame
	b.ReportAllocs()
	for b.Loop() {
		frames = s.User(p, pcs, frames[:0])
	}
	if len(frames) != len(pcs) {
		b.Fatal(fmt.Sprint(frames))
	}
}
