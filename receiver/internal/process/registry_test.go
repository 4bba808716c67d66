package process

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/procmap"
)

// openNothing gives every path an object of its own.
type openNothing struct {
	opened  []string
	objects map[string]*symbolize.Object
}

func (o *openNothing) Open(_ int, m procmap.Mapping) *symbolize.Object {
	o.opened = append(o.opened, m.Path)
	if o.objects == nil {
		o.objects = make(map[string]*symbolize.Object)
	}
	if o.objects[m.Path] == nil {
		o.objects[m.Path] = &symbolize.Object{}
	}
	return o.objects[m.Path]
}

// registry makes one whose procfs is empty: all it knows are events.
func registry(t *testing.T) (*Registry, *openNothing) {
	t.Helper()
	o := &openNothing{}
	return New(o, Options{ProcRoot: t.TempDir()}), o
}

// at is a moment on CLOCK_MONOTONIC, long enough ago for fork times.
const base = 100e9

func fork(at, pid, parent uint64) bpf.Event {
	return bpf.Event{Kind: bpf.EventFork, Nanos: at, PID: uint32(pid), TID: uint32(pid), ParentPID: uint32(parent)}
}

func exec(at, pid uint64, comm string) bpf.Event {
	return bpf.Event{Kind: bpf.EventComm, Nanos: at, PID: uint32(pid), TID: uint32(pid), Exec: true, Comm: comm}
}

func rename(at, pid, tid uint64, comm string) bpf.Event {
	return bpf.Event{Kind: bpf.EventComm, Nanos: at, PID: uint32(pid), TID: uint32(tid), Comm: comm}
}

func mmap(at, pid, start uint64, path string) bpf.Event {
	return bpf.Event{Kind: bpf.EventMmap, Nanos: at, PID: uint32(pid), TID: uint32(pid), Start: start, Length: 0x1000, Path: path}
}

func exit(at, pid uint64) bpf.Event {
	return bpf.Event{Kind: bpf.EventExit, Nanos: at, PID: uint32(pid), TID: uint32(pid)}
}

func paths(s Snapshot) []string {
	var list []string
	for _, m := range s.Image.Mappings {
		list = append(list, m.Path)
	}
	return list
}

// suspended is the difference of the two clocks, taken once.
var suspended = bootMinusMono()

// start is the start time of a process that a fork event reported.
func start(at uint64) uint64 { return at + suspended - forkDelay/2 }

func TestForkInheritsAndExecReplaces(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{
		fork(base, 10, 1), exec(base+10, 10, "shell"), mmap(base+11, 10, 0x1000, "/bin/shell"), mmap(base+12, 10, 0x5000, "/lib/libc"),
		fork(base+100, 11, 10),
		exec(base+200, 11, "tool"), mmap(base+201, 11, 0x1000, "/bin/tool"), mmap(base+202, 11, 0x9000, "/lib/ld"),
	})
	child := start(base + 100)
	before := r.Find(11, child, base+150, "")
	require.Equal(t, []string{"/bin/shell", "/lib/libc"}, paths(before))
	require.Equal(t, "shell", before.Identity.Name)
	require.Equal(t, "/bin/shell", before.Identity.ExecutablePath)
	after := r.Find(11, child, base+250, "")
	require.Equal(t, []string{"/bin/tool", "/lib/ld"}, paths(after))
	require.Equal(t, "tool", after.Identity.Name)
	require.Equal(t, "/bin/tool", after.Identity.ExecutablePath)
	require.Equal(t, "tool", after.Identity.ServiceName)
	require.NotSame(t, before.Identity, after.Identity)
	require.Same(t, after.Identity, r.Find(11, child, base+300, "").Identity)
	require.False(t, after.Gone)
}

func TestAMappingThatTookThePlaceOfAnother(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+10, 10, "x"), mmap(base+11, 10, 0x1000, "/a"), mmap(base+12, 10, 0x8000, "/first.so")})
	r.Apply([]bpf.Event{mmap(base+1000, 10, 0x8000, "/second.so")})
	s := start(base)
	require.Equal(t, []string{"/a", "/first.so"}, paths(r.Find(10, s, base+500, "")))
	require.Equal(t, []string{"/a", "/second.so"}, paths(r.Find(10, s, base+1500, "")))
}

// The same in one batch: dlclose and dlopen within milliseconds.
func TestMappingsThatTookTurns(t *testing.T) {
	r, _ := registry(t)
	events := []bpf.Event{fork(base, 10, 1), exec(base+10, 10, "x"), mmap(base+11, 10, 0x1000, "/a")}
	for i := range uint64(10) {
		events = append(events, mmap(base+1000+i*100, 10, 0x8000, []string{"/even.so", "/odd.so"}[i%2]))
	}
	r.Apply(events)
	s := start(base)
	for i := range uint64(10) {
		want := []string{"/a", []string{"/even.so", "/odd.so"}[i%2]}
		require.Equal(t, want, paths(r.Find(10, s, base+1000+i*100+50, "")), "turn %d", i)
	}
}

func TestPIDThatIsUsedAgain(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "old"), mmap(base+2, 10, 0x1000, "/old"), exit(base+3, 10)})
	later := uint64(base + 60e9)
	r.Apply([]bpf.Event{fork(later, 10, 1), exec(later+1, 10, "new"), mmap(later+2, 10, 0x1000, "/new")})
	require.Equal(t, []string{"/old"}, paths(r.Find(10, start(base), base+3, "")))
	require.Equal(t, []string{"/new"}, paths(r.Find(10, start(later), later+3, "")))
	require.Equal(t, "old", r.Find(10, start(base), base+3, "").Identity.Name)
}

func TestUnknownProcessThatIsGone(t *testing.T) {
	r, _ := registry(t)
	s := r.Find(77, 5e9, base, "thread")
	require.True(t, s.Gone)
	require.Empty(t, s.Image.Mappings)
	require.Equal(t, 77, s.Identity.PID)
	require.Equal(t, "thread", s.Identity.Name)
	require.Same(t, s.Identity, r.Find(77, 5e9, base, "thread").Identity)
	// The exec of a process of which only that is known makes it known.
	r.Apply([]bpf.Event{exec(base+10, 78, "late"), mmap(base+11, 78, 0x1000, "/late")})
	late := r.Find(78, base-5, base+20, "")
	require.False(t, late.Gone)
	require.Equal(t, []string{"/late"}, paths(late))
}

func TestNames(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{
		fork(base, 10, 1), exec(base+1, 10, "a-very-long-pro"), mmap(base+2, 10, 0x1000, "/opt/a-very-long-program"),
		rename(base+3, 10, 11, "worker-1"),
	})
	id := r.Find(10, start(base), base+5, "worker-1").Identity
	require.Equal(t, "a-very-long-program", id.Name, "cut by the kernel, completed from the file")
	r.Apply([]bpf.Event{rename(base+6, 10, 10, "postgres: idle")})
	require.Equal(t, "a-very-long-program", id.Name, "identities change in Find only")
	require.Same(t, id, r.Find(10, start(base), base+7, "").Identity)
	require.Equal(t, "postgres: idle", id.Name, "the main thread's own choice")
	require.Equal(t, "swapper", r.Find(0, 0, base, "swapper/0").Identity.Name)
	require.True(t, r.Find(0, 0, base, "swapper/1").Identity.Kernel)
}

func TestDisplayName(t *testing.T) {
	for _, c := range [][3]string{
		{"foo.sh", "/usr/bin/bash", "foo.sh"},
		{"exactly15bytes_", "/bin/exactly15bytes_long", "exactly15bytes_long"},
		{"exactly15bytes_", "/bin/other", "exactly15bytes_"},
		{"short", "/bin/shorter", "short"},
		{"", "/bin/x", "x"},
		{"kworker/0:1", "", "kworker/0:1"},
	} {
		require.Equal(t, c[2], displayName(c[0], c[1]))
	}
}

func TestSweepForgetsWhatHasEnded(t *testing.T) {
	r, _ := registry(t)
	t0 := now(unix.CLOCK_MONOTONIC) - 5e9
	for pid := uint64(100); pid < 200; pid++ {
		r.Apply([]bpf.Event{fork(t0, pid, 1), exec(t0+1, pid, "x"), exit(t0+2, pid)})
	}
	require.Equal(t, 101, r.Len(), "with their parent")
	r.Sweep(time.Second)
	require.Equal(t, 101, r.Len(), "samples of a process may come after its end")
	for _, list := range r.byPID {
		list[0].endedAt = t0
	}
	r.Sweep(time.Second)
	require.Zero(t, r.Len())
}

// A drain may take long: samples of what ended meanwhile come with the next one.
func TestSweepKeepsWhatEndedSinceTheLast(t *testing.T) {
	r, _ := registry(t)
	ended := now(unix.CLOCK_MONOTONIC) - 10e9
	r.Apply([]bpf.Event{fork(ended-2, 100, 1), exec(ended-1, 100, "x"), exit(ended, 100)})
	r.byPID[100][0].endedAt = ended
	r.swept = ended - 10e9
	r.Sweep(time.Second)
	require.Len(t, r.byPID[100], 1)
	r.Sweep(time.Second)
	require.Empty(t, r.byPID[100])
}

// A process whose main thread has ended lives as long as another thread does.
func TestMainThreadEndsFirst(t *testing.T) {
	r, _ := registry(t)
	dir := filepath.Join(r.opts.ProcRoot, "10")
	require.NoError(t, os.Mkdir(dir, 0o755))
	write := func(threads int) {
		s := (start(base) - 500) / nanosPerTick
		text := "10 (x) Z 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 " + strconv.Itoa(threads) + " 0 " + strconv.FormatUint(s, 10) + " 0 0\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o644))
	}
	write(2)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x"), exit(base+2, 10)})
	r.Sweep(time.Second)
	require.NotNil(t, r.current(10))
	write(1)
	r.Sweep(time.Second)
	require.Nil(t, r.current(10))
}

// What procfs does not know any more is asked once, not for each sample.
func TestProcessThatEndedBeforeItIsRead(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x")})
	require.Empty(t, r.Find(10, start(base), base+2, "").Identity.CommandLine)
	r.opts.CommandLines = true
	dir := filepath.Join(r.opts.ProcRoot, "10")
	require.NoError(t, os.Mkdir(dir, 0o755))
	s := (start(base) - 500) / nanosPerTick
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"),
		[]byte("10 (x) R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 1 0 "+strconv.FormatUint(s, 10)+" 0 0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cmdline"), []byte("x"), 0o644))
	require.Empty(t, r.Find(10, start(base), base+3, "").Identity.CommandLine)
	r.Apply([]bpf.Event{exec(base+4, 10, "y")})
	require.Equal(t, "x", r.Find(10, start(base), base+5, "").Identity.CommandLine, "another program is another question")
}

// A process that was there before the first event: when its exec is told of,
// procfs shows the new program already, which says nothing about the old one.
func TestExecOfAProcessThatIsLearntOf(t *testing.T) {
	r, _ := registry(t)
	dir := filepath.Join(r.opts.ProcRoot, "10")
	require.NoError(t, os.Mkdir(dir, 0o755))
	born := start(base) - 500
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"),
		[]byte("10 (new) R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 1 0 "+strconv.FormatUint(born/nanosPerTick, 10)+" 0 0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte("00401000-00402000 r-xp 00001000 08:01 5 /new\n"), 0o644))
	t0 := now(unix.CLOCK_MONOTONIC) - 1e9
	r.Apply([]bpf.Event{
		exec(t0, 10, "first"), mmap(t0+10, 10, 0x401000, "/first"),
		exec(t0+1000, 10, "new"), mmap(t0+1010, 10, 0x401000, "/new"),
	})
	before := r.Find(10, born, t0-100, "old")
	require.Empty(t, before.Image.Mappings)
	require.Equal(t, "first", before.Identity.Name)
	between := r.Find(10, born, t0+100, "first")
	require.Equal(t, "first", between.Identity.Name, "events tell of it")
	require.Equal(t, []string{"/first"}, paths(between))
	require.Equal(t, []string{"/new"}, paths(r.Find(10, born, t0+1100, "new")))
}

// After lost events, what procfs says counts.
func TestLostEventsMakeItReadAgain(t *testing.T) {
	r, o := registry(t)
	dir := filepath.Join(r.opts.ProcRoot, "10")
	require.NoError(t, os.Mkdir(dir, 0o755))
	s := (start(base) - 500) / nanosPerTick
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"),
		[]byte("10 (renamed) R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 1 0 "+strconv.FormatUint(s, 10)+" 0 0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte("00401000-00402000 r-xp 00001000 08:01 5 /new\n"), 0o644))
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x"), mmap(base+2, 10, 0x1000, "/old"), fork(base, 11, 1)})
	require.EqualValues(t, 7, r.Apply([]bpf.Event{{Kind: bpf.EventLost, Nanos: base + 3, Lost: 7}}))
	r.Sweep(time.Second)
	require.Equal(t, []string{"/old"}, paths(r.Find(10, start(base), base+3, "")), "samples of before")
	after := r.Find(10, start(base), now(unix.CLOCK_MONOTONIC), "")
	require.Equal(t, []string{"/new"}, paths(after))
	require.Equal(t, "renamed", after.Identity.Name)
	require.Contains(t, o.opened, "/new")
	require.Nil(t, r.current(11), "it is not in procfs any more")
}

// An exec among the lost events is noticed by the program that runs now; what
// was sampled since the last look is no longer the old one's.
func TestLostExec(t *testing.T) {
	r, _ := registry(t)
	dir := filepath.Join(r.opts.ProcRoot, "10")
	require.NoError(t, os.Mkdir(dir, 0o755))
	born := start(base) - 500
	require.NoError(t, os.WriteFile(filepath.Join(dir, "stat"),
		[]byte("10 (new) R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 1 0 "+strconv.FormatUint(born/nanosPerTick, 10)+" 0 0\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "maps"), []byte("00401000-00402000 r-xp 00001000 08:01 5 /new\n"), 0o644))
	require.NoError(t, os.Symlink("/new", filepath.Join(dir, "exe")))
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "old"), mmap(base+2, 10, 0x401000, "/old")})
	r.Sweep(time.Second)
	swept := now(unix.CLOCK_MONOTONIC)
	r.Apply([]bpf.Event{{Kind: bpf.EventLost, Nanos: swept, Lost: 1}})
	r.Sweep(time.Second)
	require.Equal(t, []string{"/old"}, paths(r.Find(10, born, swept-1e9, "")))
	lost := r.Find(10, born, swept, "")
	require.Equal(t, []string{"/new"}, paths(lost))
	require.Equal(t, "new", lost.Identity.Name)
}

func TestRepeatedMappingsCostNothing(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x"), mmap(base+2, 10, 0x1000, "/x")})
	for i := range uint64(1000) {
		r.Apply([]bpf.Event{mmap(base+10+i, 10, 0x1000, "/x")})
	}
	require.Len(t, r.current(10).running().versions, 1)
}

func TestOldVersionsAreDropped(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x"), mmap(base+2, 10, 0x1000, "/x")})
	for i := range uint64(1000) {
		r.Apply([]bpf.Event{mmap(base+10+i*1e9, 10, 0x2000, "/lib"+strconv.FormatUint(i, 10))})
		r.Apply([]bpf.Event{exec(base+10+i*1e9+5, 10, "y"), mmap(base+10+i*1e9+6, 10, 0x1000, "/y")})
	}
	require.Less(t, len(r.current(10).programs), 200)
}

func TestVersionsAndProgramsAreBounded(t *testing.T) {
	r, _ := registry(t)
	r.Apply([]bpf.Event{fork(base, 10, 1), exec(base+1, 10, "x"), mmap(base+2, 10, 0x1000, "/x")})
	var events []bpf.Event
	for i := range uint64(5000) {
		events = append(events, mmap(base+10+i, 10, 0x8000, []string{"/even.so", "/odd.so"}[i%2]))
	}
	r.Apply(events)
	require.Len(t, r.current(10).running().versions, maxVersions)
	require.Equal(t, []string{"/x", "/odd.so"}, paths(r.Find(10, start(base), base+6000, "")))
	for i := range uint64(1000) {
		r.Apply([]bpf.Event{exec(base+10000+i, 10, "y")})
	}
	require.Len(t, r.current(10).programs, maxPrograms)
}

// The real thing: this process, from procfs.
func TestFindsThisProcess(t *testing.T) {
	r := New(&openNothing{}, Options{CommandLines: true})
	st, err := readStat("/proc", uint32(os.Getpid()))
	require.NoError(t, err)
	s := r.Find(uint32(os.Getpid()), st.startLow()+5, now(unix.CLOCK_MONOTONIC), "x")
	require.False(t, s.Gone)
	exe, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, exe, s.Identity.ExecutablePath)
	require.Contains(t, paths(s), exe)
	require.Contains(t, s.Identity.CommandLine, os.Args[0])
	require.NoError(t, r.Scan(nil))
	require.Greater(t, r.Len(), 1)
	wrong := r.Find(uint32(os.Getpid()), st.startLow()+500e9, now(unix.CLOCK_MONOTONIC), "x")
	require.True(t, wrong.Gone, "another process had this PID")
}
