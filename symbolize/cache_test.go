package symbolize

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

// copies maps n copies of a library at different places of process 7.
func copies(t testing.TB, l *library, n int) (proc string, ms []procmap.Mapping) {
	t.Helper()
	proc, root := fakeProc(t)
	for i := range n {
		path := fmt.Sprintf("/lib%d.so", i)
		copyFile(t, l.path, filepath.Join(root, path))
		m := l.mapping(base+addr.Virtual(i)<<24, path)
		info, err := os.Stat(filepath.Join(root, path))
		require.NoError(t, err)
		m.Inode = inodeOf(info)
		ms = append(ms, m)
	}
	return proc, ms
}

func TestCacheIsBoundedAndNamesComeBack(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f0", "f1", "f2", "f3")
	proc, ms := copies(t, l, 40)
	s := newPatient(Options{ProcRoot: proc, MaxCacheBytes: 20 << 10})
	defer s.Close()
	p := process(s, ms...)
	var last *Frame
	for round := range 3 {
		for _, m := range ms {
			f := one(s, p, l.at(m, "f2"))
			require.Equal(t, "f2", name(f), "round %d", round)
			require.NotSame(t, last, f)
			last = f
			require.LessOrEqual(t, s.Stats().CacheBytes, int64(20<<10))
		}
	}
	assert.Positive(t, s.Stats().Evictions)
	var counted int64
	for _, h := range s.holdings {
		counted += h.bytes
	}
	assert.Equal(t, counted, s.held, "what is counted is the sum of what is held")
}

func TestWhatIsUsedStays(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 40)
	s := newPatient(Options{ProcRoot: proc, MaxCacheBytes: 20 << 10})
	defer s.Close()
	p := process(s, ms...)
	hot := one(s, p, l.at(ms[0], "f"))
	for _, m := range ms[1:] {
		one(s, p, l.at(m, "f"))
		require.Same(t, hot, one(s, p, l.at(ms[0], "f")))
	}
	assert.Positive(t, s.Stats().Evictions)
}

func TestWhatIsNotNeededForAWhileIsGivenBack(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 3)
	now := time.Unix(1e9, 0)
	s := newPatient(Options{ProcRoot: proc, Now: func() time.Time { return now }})
	defer s.Close()
	p := process(s, ms...)
	cold, hot := one(s, p, l.at(ms[0], "f")), one(s, p, l.at(ms[1], "f"))
	before := s.Stats().CacheBytes
	for range 10 {
		s.Forget(time.Minute)
		now = now.Add(10 * time.Second)
		require.Same(t, hot, one(s, p, l.at(ms[1], "f")))
	}
	assert.Less(t, s.Stats().CacheBytes, before)
	assert.Positive(t, s.Stats().CacheBytes)
	again := one(s, p, l.at(ms[0], "f"))
	assert.NotSame(t, cold, again)
	assert.Equal(t, name(cold), name(again))
	assert.Equal(t, before, s.Stats().CacheBytes)
	assert.LessOrEqual(t, len(s.marks), 7, "one for each call within the time")
}

func TestOpenFilesAreBoundedAndOpenedAgain(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"-Wl,--build-id=0x01", "-Wl,--build-id=none"} {
		l := functions(t, id, "f")
		proc, ms := copies(t, l, 20)
		s := newPatient(Options{ProcRoot: proc, MaxOpenFiles: 3})
		p := process(s, ms...)
		assert.Equal(t, 3, s.Stats().OpenFiles)
		for _, m := range ms {
			require.Equal(t, "f", name(one(s, p, l.at(m, "f"))), id)
		}
		assert.Equal(t, 3, s.Stats().OpenFiles)
		s.Close()
		assert.Zero(t, s.Stats().OpenFiles)
	}
}

func TestKnownObjectsAreBounded(t *testing.T) {
	t.Parallel()
	s := newPatient(Options{ProcRoot: t.TempDir()})
	defer s.Close()
	kept := s.special(objectKey{path: "kept"}, objectAnonymous, nil)
	for i := range 3 * maxObjects {
		s.special(objectKey{path: fmt.Sprint(i)}, objectAnonymous, nil)
		require.LessOrEqual(t, s.Stats().Objects, maxObjects)
		require.Same(t, kept, s.special(objectKey{path: "kept"}, objectAnonymous, nil))
	}
}

func TestOneFileMustNotPushOutAllOthers(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 1)
	s := newPatient(Options{ProcRoot: proc, MaxCacheBytes: 1000})
	defer s.Close()
	f := one(s, process(s, ms...), l.at(ms[0], "f"))
	assert.Equal(t, ReasonTooBig, f.Reason)
}

func TestCloseTwiceAndAfterwards(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 2)
	s := newPatient(Options{ProcRoot: proc})
	p := process(s, ms...)
	assert.Equal(t, "f", name(one(s, p, l.at(ms[0], "f"))))
	s.Close()
	s.Close()
	assert.Zero(t, s.Stats().CacheBytes)
	one(s, p, l.at(ms[1], "f"))
	s.Open(7, ms[0])
	assert.Zero(t, s.Stats().OpenFiles)
}

func TestOpenWhileNaming(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 30)
	s := newPatient(Options{ProcRoot: proc, MaxCacheBytes: 20 << 10, MaxOpenFiles: 4})
	defer s.Close()
	p := process(s, ms...)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 20 {
				for _, m := range ms {
					s.Open(7, m)
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				for _, m := range ms {
					if got := name(one(s, p, l.at(m, "f"))); got != "f" {
						t.Errorf("%s in %s", got, m.Path)
					}
				}
				s.Stats()
			}
		})
	}
	wg.Wait()
}
