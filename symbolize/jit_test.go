package symbolize

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

// jitFixture is process 7, which is 3 to itself, with generated code at base.
type jitFixture struct {
	s    *Symbolizer
	p    *Process
	proc string
	file string // of its perf map
	c    *clock
}

func newJIT(t *testing.T) *jitFixture {
	t.Helper()
	proc, root := fakeProc(t)
	require.NoError(t, os.Mkdir(filepath.Join(root, "tmp"), 0o755))
	status := fmt.Sprintf("Name:\tnode\nUid:\t%[1]d\t%[1]d\t%[1]d\t%[1]d\nNSpid:\t7\t3\n", os.Getuid())
	require.NoError(t, os.WriteFile(filepath.Join(proc, "7/status"), []byte(status), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(proc, "7/stat"), []byte("7 (node) S"+strings.Repeat(" 1", 40)+"\n"), 0o600))
	c := &clock{time.Unix(1e9, 0)}
	s := newPatient(Options{ProcRoot: proc, Now: c.Now})
	t.Cleanup(s.Close)
	p := process(s, procmap.Mapping{Start: base, Limit: base + 0x10000})
	return &jitFixture{s, p, proc, filepath.Join(root, "tmp/perf-3.map"), c}
}

func (j *jitFixture) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(j.file, []byte(text), 0o600))
	j.c.now = j.c.now.Add(jitInterval)
}

func (j *jitFixture) at(off addr.Virtual) *Frame { return one(j.s, j.p, base+off) }

func TestGeneratedCode(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	assert.Equal(t, ReasonNoMap, j.at(5).Reason)
	j.write(t, "7f0000000000 10 JS:*hot /srv/my app.js:1:15\n7f0000000010 10 Lcom/x/Y;::run\n")
	f := j.at(5)
	assert.Equal(t, []Line{{Name: "hot", SystemName: "JS:*hot /srv/my app.js:1:15", File: "/srv/my app.js", StartLine: 1}}, f.Lines)
	assert.Equal(t, KindV8, f.Kind)
	assert.NotEmpty(t, f.Tier)
	assert.Equal(t, "[anon]", f.Module.Path)
	assert.Equal(t, addr.File(base+5), f.Address)
	frames := j.s.User(j.p, []addr.Virtual{base + 0x10, base + 0x10, base + 0x20}, nil)
	assert.Equal(t, []Line{{Name: "com.x.Y.run", SystemName: "Lcom/x/Y;::run"}}, frames[0].Lines)
	assert.Equal(t, KindJVM, frames[0].Kind)
	assert.Equal(t, "hot", name(frames[1]))
	assert.Equal(t, "com.x.Y.run", name(frames[2]))
	assert.Same(t, f, j.at(5))
}

func TestMapIsLookedAtOnceASecond(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.at(5)
	require.NoError(t, os.WriteFile(j.file, []byte("7f0000000000 10 f\n"), 0o600))
	j.c.now = j.c.now.Add(jitInterval / 2)
	assert.Empty(t, name(j.at(5)))
	j.c.now = j.c.now.Add(jitInterval / 2)
	assert.Equal(t, "f", name(j.at(5)))
}

func TestCodeThatIsReplacedKeepsItsOldSamples(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	text := "7f0000000000 10 first\n7f0000000100 10 stays\n"
	j.write(t, text)
	first, stays := j.at(5), j.at(0x105)
	assert.Equal(t, "first", name(first))
	j.write(t, text+"7f0000000000 10 second\n")
	assert.Equal(t, "second", name(j.at(5)))
	assert.Equal(t, "first", name(first))
	assert.Same(t, stays, j.at(0x105))
	j.write(t, "") // truncated
	assert.Empty(t, name(j.at(5)))
	assert.Equal(t, ReasonNoMap, j.at(5).Reason)
}

func TestMemoryThatGrowsKeepsItsFrames(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.write(t, "7f0000000000 20000 f\n")
	f := j.at(5)
	m := j.p.Mappings[0]
	m.Limit += 0x10000
	j.p = j.p.With([]Mapped{m})
	assert.Same(t, f, j.at(5))
	assert.Same(t, f.Module, j.at(6).Module)
	assert.Equal(t, addr.File(m.Limit), j.at(0x10005).Module.Limit)
	m.Limit -= 0x18000
	j.p = j.p.With([]Mapped{m})
	assert.Same(t, f, j.at(5))
	assert.Equal(t, ReasonNoMapping, j.at(0x10005).Reason)
}

func TestMapOutlivesItsFile(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.write(t, "7f0000000000 10 f\n")
	f := j.at(5)
	require.NoError(t, os.RemoveAll(filepath.Join(j.proc, "7")))
	j.c.now = j.c.now.Add(time.Minute)
	assert.Same(t, f, j.at(5))
	assert.Equal(t, "f", name(j.at(6)))
}

func TestExecForgetsTheMap(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.write(t, "7f0000000000 10 f\n")
	assert.Equal(t, "f", name(j.at(5)))
	require.NoError(t, os.Remove(j.file))
	same := j.p.With(j.p.Mappings)
	assert.Equal(t, "f", name(one(j.s, same, base+6)))
	execed := NewProcess(7, 0).With(j.p.Mappings)
	assert.Empty(t, name(one(j.s, execed, base+6)))
}

func TestMapDoesNotNameFiles(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "hot")
	j := newJIT(t)
	m := l.mapping(base+0x100000, "/lib.so")
	mapFile(t, j.proc, m, l.path)
	j.p = j.p.With([]Mapped{j.p.Mappings[0], {Mapping: m, Object: j.s.Open(7, m)}})
	j.write(t, "0 ffffffffffffffff evil\n0 7fffffffffffffff evil\n"+fmt.Sprintf("%x 4000000 evil\n", base))
	assert.Equal(t, "evil", name(j.at(5)))
	assert.Equal(t, "hot", name(one(j.s, j.p, l.at(m, "hot"))))
	assert.Empty(t, name(one(j.s, j.p, base+0x50000)), "nor what is in no mapping")
	assert.Equal(t, uint64(2), j.s.Stats().PerfMapLinesBad)
}

func TestCodeInAFileThatIsNoELF(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	file := filepath.Join(t.TempDir(), "memory")
	require.NoError(t, os.WriteFile(file, make([]byte, 8192), 0o600))
	info, err := os.Stat(file)
	require.NoError(t, err)
	m := procmap.Mapping{Start: base + 0x100000, Limit: base + 0x102000, Inode: inodeOf(info), Path: "/memfd:doublemapper", Deleted: true}
	mapFile(t, j.proc, m, file)
	j.p = j.p.With([]Mapped{{Mapping: m, Object: j.s.Open(7, m)}})
	f := one(j.s, j.p, m.Start+5)
	assert.Equal(t, ReasonMalformed, f.Reason)
	assert.Equal(t, KindJIT, f.Kind)
	j.write(t, fmt.Sprintf("%x 10 generated\n", m.Start))
	f = one(j.s, j.p, m.Start+5)
	assert.Equal(t, "generated", name(f))
	assert.Equal(t, "/memfd:doublemapper", f.Module.Path)
}

func TestRefusedMapsAreCountedOnce(t *testing.T) {
	t.Parallel()
	tests := map[string]func(name string) error{
		"not_a_regular_file": mkfifo,
		"older_than_process": func(name string) error {
			if err := os.WriteFile(name, []byte("7f0000000000 10 evil\n"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0))
		},
	}
	for want, plant := range tests {
		j := newJIT(t)
		require.NoError(t, plant(j.file))
		for range 5 {
			j.c.now = j.c.now.Add(jitInterval)
			assert.Equal(t, ReasonNoMap, j.at(5).Reason, want)
		}
		assert.Equal(t, map[string]uint64{want: 1}, j.s.Stats().PerfMapsRefused)
	}
}

func TestHugeMapIsReadInPieces(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	require.NoError(t, os.WriteFile(j.file, nil, 0o600))
	require.NoError(t, os.Truncate(j.file, 500<<20))
	f, err := os.OpenFile(j.file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("\n7f0000000000 10 newest\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	for range 20 {
		j.c.now = j.c.now.Add(jitInterval)
		if name(j.at(5)) != "" {
			break
		}
	}
	assert.Equal(t, "newest", name(j.at(5)))
	assert.Equal(t, map[string]uint64{"too_big": 1}, j.s.Stats().PerfMapsRefused)
	assert.Less(t, j.s.Stats().CacheBytes, int64(1<<20))
}

// TestNewestNamesOfAHugeMapAreThereAtOnce has a map of 300 MB of which only the
// last lines name what is asked for. Most of it is a hole: it is not read.
func TestNewestNamesOfAHugeMapAreThereAtOnce(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	f, err := os.Create(j.file)
	require.NoError(t, err)
	_, err = f.Seek(230<<20, io.SeekStart)
	require.NoError(t, err)
	w := bufio.NewWriter(f)
	const lines = 1_400_000
	for i := range lines {
		// As cheap as it can be: 50 bytes each.
		w.Write(strconv.AppendInt([]byte("7f00"), int64(0x10000000+i*64), 16))
		w.WriteString(" 40 method number ")
		w.Write(strconv.AppendInt(nil, int64(i%100_000), 10))
		w.WriteString(" of a class\n")
	}
	fmt.Fprintf(w, "%x 10 newest\n%x 10 newest too\n", base+0x5000, base+0x6000)
	require.NoError(t, w.Flush())
	require.NoError(t, f.Close())
	j.c.now = j.c.now.Add(jitInterval)
	assert.Equal(t, "newest", name(j.at(0x5001)))
	assert.Equal(t, "newest too", name(j.at(0x6001)))
	assert.Equal(t, ReasonMapTooBig, j.at(0x7001).Reason, "it may be among the names that are not held")
	assert.Equal(t, map[string]uint64{"too_big": 1}, j.s.Stats().PerfMapsRefused)
	assert.Less(t, j.s.Stats().CacheBytes, int64(60<<20))
}

// What grows by little is read each second, however big it is; what is rewritten
// all the time is read as a whole only now and then.
func TestReadingIsPaidFor(t *testing.T) {
	t.Parallel()
	const big = 8 // pieces beyond the first
	for name, c := range map[string]struct{ pieces, first, most int }{
		"growing by little":   {0, big, 600},
		"rewritten each time": {big, big, 600/big + 2},
		"growing fast":        {1, 0, 600},
		"growing very fast":   {2, 0, 600/2 + 17},
	} {
		var j jitState
		now := time.Unix(1e9, 0)
		looks := 0
		for range 600 {
			if !now.Before(j.paid) {
				j.looked = now
				pieces := c.pieces
				if looks == 0 {
					pieces = c.first
				}
				j.pay(pieces)
				looks++
			}
			now = now.Add(jitInterval)
		}
		assert.LessOrEqual(t, looks, c.most, name)
		assert.GreaterOrEqual(t, looks, c.most-9, name)
	}
}

func TestMapsAreGivenBackForMemory(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "%x 10 function%d\n", base+addr.Virtual(i*16), i)
	}
	j.s.opts.MaxCacheBytes = 50 << 10
	j.write(t, text.String())
	assert.Equal(t, "function0", name(j.at(5)))
	j.s.User(NewProcess(8, 0), nil, nil) // another stack, for which there is no room left
	assert.Positive(t, j.s.Stats().Evictions)
	assert.Zero(t, j.s.Stats().CacheBytes)
	assert.Equal(t, "function1", name(j.at(0x15)), "read again")
}

func TestRuntimesOfNames(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.write(t, "7f0000000000 10 py::work:/srv/app.py\n7f0000000010 10 py::main:/srv/app.py\nzz zz broken\n"+
		"7f0000000020 10 JS:~slow /srv/app.js:3:1\n7f0000000030 10 JS:*slow /srv/app.js:3:1\n7f0000000040 10 stub of nobody\n"+
		"7f0000000050 10 instance void [System.Private.CoreLib] System.X::Y(int32)[OptimizedTier1]\r\n")
	frames := j.s.User(j.p, []addr.Virtual{base + 5, base + 0x15, base + 0x25, base + 0x35, base + 0x45, base + 0x55}, nil)
	for i, want := range []struct {
		kind Kind
		name string
	}{{KindCPython, "work"}, {KindCPython, "main"}, {KindV8, "slow"}, {KindV8, "slow"}, {KindJIT, "stub of nobody"}, {KindDotnet, "System.X.Y"}} {
		assert.Equal(t, want.kind, frames[i].Kind, want.name)
		assert.Equal(t, want.name, name(frames[i]))
	}
	assert.NotEqual(t, frames[2].Tier, frames[3].Tier, "one name, two tiers")
	assert.Empty(t, frames[4].Tier)
	assert.Equal(t, "/srv/app.py", frames[0].Lines[0].File)
}

func TestDescribeGenerated(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "hot")
	j := newJIT(t)
	find := func() Attempt {
		for _, a := range j.s.DescribeGenerated(j.p) {
			if a.Source == "perf_map" {
				return a
			}
		}
		return Attempt{}
	}
	assert.EqualError(t, find().Err, "no perf map", "nothing is known of what made the code")
	m := l.mapping(base+0x100000, "/usr/bin/node")
	mapFile(t, j.proc, m, l.path)
	j.p = j.p.With([]Mapped{j.p.Mappings[0], {Mapping: m, Object: j.s.Open(7, m)}})
	assert.ErrorContains(t, find().Err, "start it with --perf-basic-prof")
	assert.Contains(t, Advice(j.p), "--interpreted-frames-native-stack")
	m = l.mapping(base+0x200000, "/usr/lib/chromium/chromium")
	mapFile(t, j.proc, m, l.path)
	browser := j.p.With([]Mapped{j.p.Mappings[0], {Mapping: m, Object: j.s.Open(7, m)}})
	assert.Contains(t, Advice(browser), "--js-flags=--perf-basic-prof", "a browser does not know the flags of node")
	j.write(t, "7f0000000000 10 f\nbroken\n")
	assert.Equal(t, "1 named ranges, 1 lines make no sense", find().Result)
}
