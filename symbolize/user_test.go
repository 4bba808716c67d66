package symbolize

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
	"github.com/flametel/flametel/symbolize/procmap"
)

func TestUserFrames(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--section-start=.text=0x15000 -Wl,--build-id=0x0102", "hot", "next")
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.mapping(base, "/srv/lib.so")
	mapFile(t, proc, m, l.path)
	p := process(s, m)

	hot, next := l.at(m, "hot"), l.at(m, "next")
	frames := s.User(p, []addr.Virtual{hot, next, hot + 1, m.Limit + 5, 0, 0x1000, hot}, nil)
	require.Len(t, frames, 7)
	f := frames[0]
	assert.Equal(t, "hot", name(f))
	assert.Equal(t, KindNative, f.Kind)
	assert.Equal(t, ReasonNone, f.Reason)
	assert.Equal(t, addr.File(l.offsets["hot"])-addr.File(l.code.Off)+addr.File(l.code.Vaddr), f.Address)
	assert.NotEqual(t, addr.File(l.offsets["hot"]), f.Address, "a file address, which is not the offset")
	assert.Equal(t, "/srv/lib.so", f.Module.Path)
	assert.Equal(t, "0102", f.Module.GNUBuildID)
	assert.Equal(t, addr.File(l.code.Vaddr), f.Module.Start)
	assert.Equal(t, addr.File(l.code.Vaddr+l.code.Filesz), f.Module.Limit)
	assert.Equal(t, addr.Offset(l.code.Off), f.Module.Offset)

	assert.Equal(t, "hot", name(frames[1]), "a return address at the start of next is a call in hot")
	assert.Same(t, f, frames[2], "the byte before a return address is that of the leaf")
	for _, f := range frames[3:6] {
		assert.Equal(t, ReasonNoMapping, f.Reason)
		assert.Empty(t, f.Module.Path)
		assert.Empty(t, f.Lines)
		assert.Equal(t, KindUnknown, f.Kind)
	}
	assert.Equal(t, addr.File(m.Limit+4), frames[3].Address)
	assert.NotEqual(t, "hot", name(frames[6]), "before the first function")
	assert.Same(t, f.Module, frames[6].Module)

	again := s.User(p, []addr.Virtual{hot, next, hot + 1, m.Limit + 5}, frames[:0:0])
	for i := range again {
		assert.Same(t, frames[i], again[i])
	}
	assert.Empty(t, s.User(p, nil, nil))
}

func TestWarmLookupsDoNotAllocate(t *testing.T) {
	l := functions(t, "", "hot")
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.mapping(base, "/lib.so")
	mapFile(t, proc, m, l.path)
	p := process(s, m)
	pcs := []addr.Virtual{l.at(m, "hot"), l.at(m, "hot") + 1, m.Limit, vsyscallPage}
	dst := s.User(p, pcs, nil)
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst = s.User(p, pcs, dst[:0]) }))
}

func TestProcessWithoutMappingsIsGone(t *testing.T) {
	t.Parallel()
	s := newPatient(Options{})
	defer s.Close()
	assert.Equal(t, ReasonProcessGone, one(s, NewProcess(7, 0), 0x1234).Reason)
}

func TestMemoryThatIsNoFile(t *testing.T) {
	t.Parallel()
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	for path, want := range map[string]string{"": "[anon]", "//anon": "[anon]", "[heap]": "[anon]", "[anon:jit]": "[anon]", "[stack]": "[anon]", "[uprobes]": "[uprobes]"} {
		p := process(s, procmap.Mapping{Start: base, Limit: base + 0x1000, Offset: addr.Offset(base), Path: path})
		f := one(s, p, base+5)
		assert.Equal(t, KindJIT, f.Kind, path)
		assert.Equal(t, want, f.Module.Path)
		assert.Equal(t, addr.File(base), f.Module.Start)
		assert.Equal(t, addr.File(base+0x1000), f.Module.Limit)
		assert.Zero(t, f.Module.Offset)
		assert.Equal(t, addr.File(base+5), f.Address)
		assert.Equal(t, ReasonNoMap, f.Reason)
	}
}

func TestVsyscallIsOneLabel(t *testing.T) {
	t.Parallel()
	s := newPatient(Options{})
	defer s.Close()
	listed := process(s, procmap.Mapping{Start: vsyscallPage, Limit: vsyscallPage + vsyscallSize, Path: "[vsyscall]"})
	f := one(s, listed, vsyscallPage+0x400)
	assert.Equal(t, "[vsyscall]", name(f))
	assert.Same(t, f, one(s, NewProcess(7, 0), vsyscallPage), "events do not tell it")
	assert.Equal(t, ReasonProcessGone, one(s, NewProcess(7, 0), vsyscallPage+vsyscallSize).Reason)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x0a", "hot")
	proc, root := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	write := func(name string, b []byte) { require.NoError(t, os.WriteFile(filepath.Join(root, name), b, 0o600)) }
	whole, err := os.ReadFile(l.path)
	require.NoError(t, err)
	write("empty", nil)
	write("short", whole[:100])
	write("half", whole[:len(whole)/2])
	write("other", whole)
	require.NoError(t, os.Mkdir(filepath.Join(root, "folder"), 0o700))
	tests := map[string]struct {
		path   string
		kind   Kind
		reason Reason
	}{
		"missing":                {"/missing", KindNative, ReasonUnreadable},
		"another file by now":    {"/other", KindNative, ReasonUnreadable},
		"empty":                  {"/empty", KindNative, ReasonMalformed},
		"shorter than a header":  {"/short", KindNative, ReasonMalformed},
		"half, without symbols":  {"/half", KindNative, ReasonNoSymbol},
		"folder":                 {"/folder", KindNative, ReasonUnreadable},
		"name with dots":         {"/../../../../../../../../etc/passwd", KindNative, ReasonUnreadable},
		"name in a missing path": {"/no/such/name", KindNative, ReasonUnreadable},
	}
	for test, tt := range tests {
		m := l.mapping(base, tt.path)
		if info, err := os.Stat(filepath.Join(root, filepath.Clean(tt.path))); err == nil && tt.path != "/other" {
			m.Inode = inodeOf(info)
		}
		f := one(s, process(s, m), l.at(m, "hot"))
		assert.Equal(t, tt.reason, f.Reason, test)
		assert.Equal(t, tt.kind, f.Kind, test)
		assert.Empty(t, f.Lines, test)
		assert.Equal(t, tt.path, f.Module.Path, test)
		if tt.reason == ReasonUnreadable {
			// What is shown of it is the offset in the file.
			assert.Equal(t, addr.File(l.offsets["hot"]), f.Address-f.Module.Start+addr.File(f.Module.Offset), test)
		}
	}
}

func TestFIFOInPlaceOfAFileDoesNotHang(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x0b", "hot")
	proc, root := fakeProc(t)
	require.NoError(t, mkfifo(filepath.Join(root, "lib.so")))
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	done := make(chan Reason, 1)
	go func() { done <- one(s, process(s, l.mapping(base, "/lib.so")), base).Reason }()
	select {
	case r := <-done:
		assert.Equal(t, ReasonUnreadable, r)
	case <-time.After(20 * time.Second):
		t.Fatal("opening a FIFO hangs")
	}
}

func TestDemangledNamesKeepTheirLinkerName(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": "namespace app { template <class T> int hot(T n) { return n; } template int hot<int>(int); }\nextern \"C\" int plain() { return 1; }\n"},
		"gcc -O0 -shared -fPIC -o lib.so a.cc")
	l := describe(t, filepath.Join(dir, "lib.so"))
	proc, _ := fakeProc(t)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	m := l.mapping(base, "/lib.so")
	mapFile(t, proc, m, l.path)
	p := process(s, m)
	assert.Equal(t, []Line{{Name: "app::hot", SystemName: "_ZN3app3hotIiEEiT_"}}, one(s, p, l.at(m, "_ZN3app3hotIiEEiT_")).Lines)
	assert.Equal(t, []Line{{Name: "plain"}}, one(s, p, l.at(m, "plain")).Lines)
}
