package symbolize

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(to, b, 0o600)) // keeps the inode of a file that is there
}

func TestNamesComeFromTheProcessesOwnRoot(t *testing.T) {
	t.Parallel()
	inner := functions(t, "-Wl,--build-id=0x01", "inner")
	proc, root := fakeProc(t)
	copyFile(t, inner.path, filepath.Join(root, "lib.so"))
	l := describe(t, filepath.Join(root, "lib.so"))
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.mapping(base, "/lib.so")
	assert.Equal(t, "inner", name(one(s, process(s, m), l.at(m, "inner"))))
}

func TestTheProfilersOwnFileIsUsedOnlyIfItIsProvenToBeTheSame(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x0102", "hot")
	tests := map[string]struct {
		buildID    []byte
		dev, inode uint64 // added to those of the file
		named      bool
	}{
		"equal":                         {[]byte{1, 2}, 0, 0, true},
		"equal on a stacked filesystem": {[]byte{1, 2}, 1, 1, true},
		"another":                       {[]byte{1, 3}, 0, 0, false},
		"longer":                        {[]byte{1, 2, 0}, 0, 0, false},
		"the same inode":                {nil, 0, 0, true},
		"another inode":                 {nil, 0, 1, false},
		"the inode of another device":   {nil, 1, 0, false},
	}
	for test, tt := range tests {
		proc, _ := fakeProc(t)
		require.NoError(t, os.RemoveAll(filepath.Join(proc, "7"))) // the process is gone
		s := newPatient(Options{ProcRoot: proc})
		m := l.mapping(base, l.path)
		m.BuildID = tt.buildID
		m.Dev += tt.dev
		m.Inode += tt.inode
		f := one(s, process(s, m), l.at(m, "hot"))
		assert.Equal(t, tt.named, name(f) == "hot", test)
		assert.Equal(t, !tt.named, f.Reason == ReasonUnreadable, test)
		s.Close()
	}
}

func TestFileThatIsGoneAfterOpen(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-Wl,--build-id=0x0102", "-Wl,--build-id=none"} {
		l := functions(t, id, "hot")
		proc, _ := fakeProc(t)
		s := newPatient(Options{ProcRoot: proc})
		m := l.mapping(base, "/lib.so")
		mapFile(t, proc, m, l.path)
		p := process(s, m)
		require.NoError(t, os.Remove(l.path))
		require.NoError(t, os.RemoveAll(filepath.Join(proc, "7")))
		assert.Equal(t, "hot", name(one(s, p, l.at(m, "hot"))), id)
		s.Close()
	}
}

func TestSecondRunOfATool(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x0102", "hot")
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.mapping(base, "/lib.so")
	mapFile(t, proc, m, l.path)
	first := process(s, m)
	require.NoError(t, os.RemoveAll(filepath.Join(proc, "7")))
	second := s.Open(8, l.mapping(base+0x100000, "/lib.so"))
	assert.Same(t, first.Mappings[0].Object, second, "found by its inode although its process is gone")
	assert.NotSame(t, second, s.Open(8, l.mapping(base, "/other/lib.so")), "another path is not trusted")
}

// Anybody can give a file the build ID of another, and mount it in its place
// for himself.
func TestAnotherFileOfTheSamePathAndBuildID(t *testing.T) {
	t.Parallel()
	victim, evil := functions(t, "-Wl,--build-id=0x0102", "victim"), functions(t, "-Wl,--build-id=0x0102", "evil")
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	at := base
	for range 2 {
		for _, c := range []struct {
			l    *library
			name string
		}{{evil, "evil"}, {victim, "victim"}} {
			at += 0x100000
			m := c.l.mapping(at, "/srv")
			mapFile(t, proc, m, c.l.path)
			assert.Equal(t, c.name, name(one(s, process(s, m), c.l.at(m, c.name))))
		}
	}
}

func TestFileOverwrittenInPlace(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-Wl,--build-id=none", "-Wl,--build-id"} {
		alpha, beta := functions(t, id, "alpha"), functions(t, id, "beta")
		require.Equal(t, alpha.offsets["alpha"], beta.offsets["beta"])
		proc, root := fakeProc(t)
		path := filepath.Join(root, "lib.so")
		copyFile(t, alpha.path, path)
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, old, old))
		inode := describe(t, path)
		m := inode.mapping(base, "/lib.so")
		at := inode.at(m, "alpha")
		s := newPatient(Options{ProcRoot: proc})
		p := process(s, m)
		assert.Equal(t, "alpha", name(one(s, p, at)), id)
		copyFile(t, beta.path, path)
		require.Equal(t, inode.inode, describe(t, path).inode)
		q := process(s, m)
		assert.Equal(t, "beta", name(one(s, q, at)), id)
		assert.Equal(t, "alpha", name(one(s, p, at)), id)
		s.Close()
	}
}

func TestFileOverwrittenBeforeItWasReadHasNoNames(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-Wl,--build-id=none", "-Wl,--build-id"} {
		alpha, beta := functions(t, id, "alpha"), functions(t, id, "beta")
		proc, root := fakeProc(t)
		path := filepath.Join(root, "lib.so")
		copyFile(t, alpha.path, path)
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(path, old, old))
		l := describe(t, path)
		m := l.mapping(base, "/lib.so")
		s := newPatient(Options{ProcRoot: proc})
		p := process(s, m)
		copyFile(t, beta.path, path)
		f := one(s, p, l.at(m, "alpha"))
		assert.Equal(t, ReasonUnreadable, f.Reason, id)
		assert.Empty(t, name(f), id)
		// A process that maps it now gets what it is now.
		m = describe(t, path).mapping(base, "/lib.so")
		assert.Equal(t, "beta", name(one(s, process(s, m), l.at(m, "alpha"))), id)
		s.Close()
	}
}

// What was written just before it was mapped is likely to be written again soon.
func TestYoungFileOverwrittenBeforeItsSampleIsNamed(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-Wl,--build-id=none", "-Wl,--build-id"} {
		alpha, beta := functions(t, id, "alpha"), functions(t, id, "beta")
		proc, root := fakeProc(t)
		path := filepath.Join(root, "lib.so")
		copyFile(t, alpha.path, path)
		written, err := os.Stat(path)
		require.NoError(t, err)
		l := describe(t, path)
		m := l.mapping(base, "/lib.so")
		s := newPatient(Options{ProcRoot: proc, Now: func() time.Time { return written.ModTime().Add(time.Second) }})
		p := process(s, m)
		early := p.Mappings[0].Object.early.Load()
		require.NotNil(t, early)
		require.Eventually(t, func() bool { return len(early.done) == 1 }, time.Minute, time.Millisecond)
		copyFile(t, beta.path, path)
		assert.Equal(t, "alpha", name(one(s, p, l.at(m, "alpha"))), id)
		s.Close()
	}
}

func TestWhatIsReadEarlyIsBounded(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 3*maxEarlyImages)
	now := time.Now()
	for _, m := range ms {
		require.NoError(t, os.Chtimes(filepath.Join(proc, "7/root", m.Path), now, now))
	}
	s := newPatient(Options{ProcRoot: proc, Now: func() time.Time { return now }})
	defer s.Close()
	var mapped []Mapped
	for _, m := range ms { // one by one, so that none is left out because others are at work
		mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(7, m)})
		require.Eventually(t, func() bool {
			s.index.mu.Lock()
			defer s.index.mu.Unlock()
			return s.index.earlyTasks == 0
		}, time.Minute, time.Millisecond)
		require.Less(t, len(s.index.early), maxEarlyImages+1)
	}
	p := NewProcess(7, 0).With(mapped)
	held := 0
	for i := range p.Mappings {
		if p.Mappings[i].Object.early.Load() != nil {
			held++
		}
	}
	assert.Equal(t, maxEarlyImages, held)
	for i, m := range ms {
		assert.Equal(t, "f", name(one(s, p, l.at(m, "f"))), "%d", i)
	}
	old := newPatient(Options{ProcRoot: proc, Now: func() time.Time { return now.Add(time.Hour) }})
	defer old.Close()
	assert.Nil(t, old.Open(7, ms[0]).early.Load(), "an old file is read when it is needed")
}

func TestLibrariesThatTakeTurnsAtAnAddress(t *testing.T) {
	t.Parallel()
	first, second := functions(t, "", "first"), functions(t, "", "second")
	proc, root := fakeProc(t)
	copyFile(t, first.path, filepath.Join(root, "first.so"))
	copyFile(t, second.path, filepath.Join(root, "second.so"))
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	p := NewProcess(7, 0)
	at := base + addr.Virtual(first.offsets["first"]) - addr.Virtual(first.mapping(0, "").Offset)
	assert.Equal(t, ReasonProcessGone, one(s, p, at).Reason)
	for _, name1 := range []string{"first", "second"} {
		m := describe(t, filepath.Join(root, name1+".so")).mapping(base, "/"+name1+".so")
		p = p.With([]Mapped{{Mapping: m, Object: s.Open(7, m)}})
		assert.Equal(t, name1, name(one(s, p, at)))
	}
}

func TestDeletedSuffixOfEvents(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x0102", "hot")
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.event(base, "/memfd:x (deleted)")
	mapFile(t, proc, m, l.path)
	f := one(s, process(s, m), l.at(m, "hot"))
	assert.Equal(t, "hot", name(f))
	assert.Equal(t, "/memfd:x", f.Module.Path)
}

// TestInodeNumberThatIsUsedAgain has a library in two files, of which the one
// that is not held open goes and leaves its number to another library.
func TestInodeNumberThatIsUsedAgain(t *testing.T) {
	t.Parallel()
	a := functions(t, "-Wl,--build-id=0x0a", "alpha")
	b := functions(t, "-Wl,--build-id=0x0b", "beta")
	proc, root := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	file := filepath.Join(root, "lib.so")
	inode := func() uint64 {
		info, err := os.Stat(file)
		require.NoError(t, err)
		return inodeOf(info)
	}
	put := func(l *library) procmap.Mapping {
		copyFile(t, l.path, file+".new")
		require.NoError(t, os.Rename(file+".new", file))
		m := l.mapping(base, "/lib.so")
		m.Inode = inode()
		return m
	}
	first := put(a)
	assert.Equal(t, "alpha", name(one(s, process(s, first), a.at(first, "alpha"))))
	second := put(a) // the same library in another file, which is held open from now on
	assert.Equal(t, "alpha", name(one(s, process(s, second), a.at(second, "alpha"))))
	third := put(b)
	third.Inode = first.Inode // as if the number had been given away again
	f := one(s, process(s, third), b.at(third, "beta"))
	assert.NotEqual(t, "alpha", name(f))
}
