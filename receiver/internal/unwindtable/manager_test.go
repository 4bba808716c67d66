//go:build linux

package unwindtable

import (
	"encoding/binary"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/bpf/unwind"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// fakeKernel holds tables in memory and looks things up as the programs do.
type fakeKernel struct {
	mu       sync.Mutex
	rows     []uint64
	mappings []bpf.Mapping
	spaces   map[uint32]bpf.Space
}

func newFakeKernel(rows, mappings int) *fakeKernel {
	return &fakeKernel{rows: make([]uint64, rows), mappings: make([]bpf.Mapping, mappings), spaces: map[uint32]bpf.Space{}}
}

func (k *fakeKernel) Rows() int                             { return len(k.rows) }
func (k *fakeKernel) Mappings() int                         { return len(k.mappings) }
func (k *fakeKernel) Wait()                                 {}
func (k *fakeKernel) Requests(func(bpf.TableRequest)) error { return nil }
func (k *fakeKernel) locked(f func())                       { k.mu.Lock(); defer k.mu.Unlock(); f() }
func (k *fakeKernel) SetSpace(s bpf.Space) error {
	k.locked(func() { k.spaces[s.PID] = s })
	return nil
}
func (k *fakeKernel) DeleteSpace(pid uint32) error {
	k.locked(func() { delete(k.spaces, pid) })
	return nil
}
func (k *fakeKernel) WriteMappings(at int, l []bpf.Mapping) error {
	k.locked(func() { copy(k.mappings[at:], l) })
	return nil
}

func (k *fakeKernel) WriteRows(at int, b []byte) error {
	k.locked(func() {
		for i := range len(b) / unwind.RowBytes {
			k.rows[at+i] = binary.NativeEndian.Uint64(b[i*unwind.RowBytes:])
		}
	})
	return nil
}

// find returns the row for an address of a process, and whether a mapping with
// rows holds it.
func (k *fakeKernel) find(pid uint32, pc uint64) (row uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.spaces[pid]
	if !known {
		return 0, false
	}
	for _, m := range k.mappings[s.First : s.First+s.Count] {
		if pc < m.Start || pc >= m.Limit || m.Count == 0 {
			continue
		}
		for _, r := range k.rows[m.First : m.First+m.Count] {
			if uint64(uint32(r)) > pc-m.Base {
				break
			}
			row = r
		}
		return row, true
	}
	return 0, false
}

// child is a program that waits.
func child(t *testing.T, name string, args ...string) uint32 {
	t.Helper()
	cmd := exec.Command(name, args...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return uint32(cmd.Process.Pid)
}

const coldAfter = 10 * time.Second

type fixture struct {
	*Manager
	kernel   *fakeKernel
	registry *process.Registry
	symbols  *symbolize.Symbolizer
	now      uint64
}

func newFixture(t *testing.T, rows, mappings int) *fixture {
	t.Helper()
	f := &fixture{kernel: newFakeKernel(rows, mappings), symbols: symbolize.New(symbolize.Options{}), now: 1e9}
	t.Cleanup(f.symbols.Close)
	f.registry = process.New(f.symbols, process.Options{})
	f.Manager = New(Options{Kernel: f.kernel, Processes: f.registry, Files: f.symbols, ColdAfter: coldAfter, Now: func() uint64 { return f.now }})
	return f
}

// all serves a process and compiles what waits.
func (f *fixture) all(t *testing.T, pids ...uint32) {
	t.Helper()
	for _, pid := range pids {
		require.NoError(t, f.serve(bpf.SpaceRequest{PID: pid}))
	}
	f.drainQueues(t)
}

func (f *fixture) drainQueues(t *testing.T) {
	t.Helper()
	var c unwind.Compiler
	for _, q := range []*queue{&f.small, &f.large} {
		for f0 := f.next(q); f0 != nil; f0 = f.next(q) {
			require.NoError(t, f.load(&c, f0))
			f.announce([]*file{f0}, func(err error) { require.NoError(t, err) })
		}
	}
}

// image waits until a child has mapped its libraries.
func (f *fixture) image(t *testing.T, pid uint32) *symbolize.Process {
	t.Helper()
	var image *symbolize.Process
	require.Eventually(t, func() bool {
		f.registry = process.New(f.symbols, process.Options{})
		f.opts.Processes = f.registry
		image, _ = f.registry.Image(pid, 0)
		return slices.ContainsFunc(image.Mappings, func(m symbolize.Mapped) bool { return strings.Contains(m.Path, "/libc.so") })
	}, time.Minute, time.Millisecond)
	return image
}

// Every row that the compiler makes is found where the file is mapped.
func TestRowsAreFoundByVirtualAddress(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	image := f.image(t, pid)
	f.all(t, pid)
	checked := 0
	for i := range image.Mappings {
		m := &image.Mappings[i]
		file := f.files[m.Object]
		if file == nil || file.state != fileLoaded {
			continue
		}
		for pc := m.Start; pc < m.Limit; pc += 16 {
			at := file.segments[0].Start + addr.File(uint64(pc-m.Start)+uint64(m.Offset)-uint64(file.segments[0].Offset))
			row, ok := f.kernel.find(pid, uint64(pc))
			require.True(t, ok, "%s %#x", m.Path, pc)
			// The row covers the address, and the next one begins above it.
			require.LessOrEqual(t, uint64(uint32(row)), uint64(at-file.base))
			checked++
		}
	}
	assert.Greater(t, checked, 10000)
}

func TestProcessesShareFilesAndForksTheirList(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	a, b := child(t, "sleep", "60"), child(t, "sleep", "60")
	f.image(t, a)
	f.image(t, b)
	f.all(t, a)
	before := f.Stats()
	f.all(t, b)
	after := f.Stats()
	assert.Equal(t, before.Rows, after.Rows, "the same files")
	assert.Equal(t, before.Files, after.Files)
	assert.Equal(t, 2, after.Processes)

	// The same list for another process, as after a fork.
	image := f.spaces[a].current()
	require.NoError(t, f.publish(&space{key: bpf.SpaceRequest{PID: 1 << 30}}, image, f.filesOf(image)))
	assert.Equal(t, after.Mappings, f.Stats().Mappings)
	assert.Equal(t, f.kernel.spaces[a].First, f.kernel.spaces[1<<30].First)
}

func TestFilesThatNobodyMapsGiveWay(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	gone := child(t, "sleep", "60")
	own := f.image(t, gone).Mappings[0].Object
	f.all(t, gone)
	require.Equal(t, fileLoaded, f.files[own].state)
	need := f.Stats().Rows
	require.NoError(t, f.forget(f.spaces[gone]))
	assert.Empty(t, f.kernel.spaces)

	// All but a little of the pool is taken; what was left must give way.
	f.rows = newExtents(need)
	x, ok := f.rows.take(need)
	require.True(t, ok)
	require.Equal(t, need, x.count)
	pid := child(t, "tail", "-f", "/dev/null")
	f.image(t, pid)
	f.all(t, pid)
	assert.Equal(t, fileRefused, f.files[own].state)
	assert.Zero(t, f.Stats().Evicted, "nobody misses it")
}

func TestHotFilesStayWhenThePoolIsFull(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	image := f.image(t, pid)
	f.all(t, pid)
	need := f.Stats().Rows
	f.rows = newExtents(need)
	_, ok := f.rows.take(need)
	require.True(t, ok)

	other := child(t, "tail", "-f", "/dev/null")
	f.image(t, other)
	f.all(t, other)
	assert.NotZero(t, f.Stats().Refused, "all files were seen a moment ago")
	assert.Zero(t, f.Stats().Evicted)

	// Long after, only one of them was seen in stacks.
	f.now += 2 * uint64(coldAfter)
	f.pressure.Store(true)
	hot := image.Mappings[0]
	f.Seen(image, []addr.Virtual{hot.Start}, false)
	var cut *symbolize.Mapped
	catImage := f.spaces[other].current()
	for i := range catImage.Mappings {
		if file := f.files[catImage.Mappings[i].Object]; file != nil && file.state == fileRefused {
			cut = &catImage.Mappings[i]
		}
	}
	require.NotNil(t, cut)
	f.Seen(catImage, []addr.Virtual{cut.Start}, true)
	_, missed := f.work()
	require.Equal(t, []*symbolize.Object{cut.Object}, missed)
	f.reload(missed)
	f.drainQueues(t)
	assert.NotZero(t, f.Stats().Evicted)
	assert.Equal(t, fileLoaded, f.files[cut.Object].state)
	_, ok = f.kernel.find(pid, uint64(hot.Start))
	assert.True(t, ok, "the hot file stays")
}

// A file that would take much of the pool is loaded when a stack needs it.
func TestHugeFilesWaitUntilTheyAreHit(t *testing.T) {
	f := newFixture(t, 1<<17, 1<<10) // an eighth are 128 KiB, libc has more
	pid := child(t, "sleep", "60")
	image := f.image(t, pid)
	f.all(t, pid)
	at := slices.IndexFunc(image.Mappings, func(m symbolize.Mapped) bool { return strings.Contains(m.Path, "/libc.so") })
	libc := &image.Mappings[at]
	assert.Equal(t, fileUnhit, f.files[libc.Object].state)
	assert.Equal(t, fileLoaded, f.files[image.Mappings[0].Object].state)

	request := bpf.TableRequest{SpaceRequest: bpf.SpaceRequest{PID: pid}, Address: uint64(libc.Start) + 100}
	for name, other := range map[string]bpf.TableRequest{
		"another process": {SpaceRequest: bpf.SpaceRequest{PID: pid + 1}, Address: request.Address},
		"another image":   {SpaceRequest: bpf.SpaceRequest{PID: pid, ExecID: 3}, Address: request.Address},
		"no mapping":      {SpaceRequest: request.SpaceRequest, Address: 4096},
	} {
		f.hit(other)
		assert.Equal(t, fileUnhit, f.files[libc.Object].state, name)
	}
	f.hit(request)
	f.drainQueues(t)
	assert.Equal(t, fileLoaded, f.files[libc.Object].state)
	_, ok := f.kernel.find(pid, request.Address)
	assert.True(t, ok)
	f.hit(request) // an answer may cross a question
	assert.Equal(t, fileLoaded, f.files[libc.Object].state)
}

func TestPreload(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	first, second := child(t, "sleep", "60"), child(t, "tail", "-f", "/dev/null")
	f.image(t, first)
	f.image(t, second)
	stop := make(chan struct{})
	require.NoError(t, f.Preload(stop, []bpf.SpaceRequest{{PID: first}}))
	assert.Positive(t, f.kernel.spaces[first].Count)
	assert.NotContains(t, f.kernel.spaces, second)
	image := f.spaces[first].current()
	_, ok := f.kernel.find(first, uint64(image.Mappings[0].Start))
	assert.True(t, ok)

	// What it was asked for meanwhile may be another program by now.
	require.NoError(t, f.serve(bpf.SpaceRequest{PID: second, ExecID: 2}))
	require.NoError(t, f.Preload(stop, []bpf.SpaceRequest{{PID: second, ExecID: 1}}))
	assert.EqualValues(t, 2, f.kernel.spaces[second].ExecID)

	// There is no room to give away.
	third := child(t, "sleep", "60")
	f.pressure.Store(true)
	require.NoError(t, f.Preload(stop, []bpf.SpaceRequest{{PID: third}}))
	assert.NotContains(t, f.kernel.spaces, third)
	f.pressure.Store(false)
	close(stop)
	require.NoError(t, f.Preload(stop, []bpf.SpaceRequest{{PID: third}}))
}

func TestTooManyMappingsAreCounted(t *testing.T) {
	f := newFixture(t, 1<<18, 8)
	pid := child(t, "sleep", "60")
	f.image(t, pid)
	f.all(t, pid)
	assert.NotZero(t, f.Stats().MappingsRefused)
	assert.Zero(t, f.kernel.spaces[pid].Count)
}

// What was walked by the table of a mapping that had been replaced a moment
// before is cut behind the first frame in it.
func TestStacksOfReplacedMappingsAreCut(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	old := f.image(t, pid)
	f.now = 100e9
	f.all(t, pid)
	replaced := slices.Clone(old.Mappings)
	replaced[1].Object = replaced[0].Object
	now := old.With(replaced)
	pcs := []addr.Virtual{old.Mappings[0].Start + 1, old.Mappings[1].Start + 1, old.Mappings[2].Start + 1}

	sound := func(want int, pid uint32, start, at uint64, image *symbolize.Process, pcs []addr.Virtual, why string) {
		n, all := f.Sound(pid, start, at, image, pcs)
		assert.Equal(t, want, n, why)
		assert.Equal(t, want == 3, all, why)
	}

	sound(3, pid, 0, 200e9, old, pcs, "nothing has changed")
	sound(2, pid, 0, 200e9, now, pcs, "the kernel does not know yet")
	f.now = 201e9
	require.NoError(t, f.publish(f.spaces[pid], now, f.filesOf(now)))
	sound(3, pid, 0, 300e9, now, pcs, "long after")
	sound(2, pid, 0, 201e9+settle/2, now, pcs, "while the kernel may still use the old one")
	sound(3, pid, 0, 200e9, old, pcs, "a sample of before")
	sound(3, pid, 7, 200e9, now, pcs, "another process")
	n, all := f.Sound(pid, 0, 200e9, now, pcs[:2])
	assert.Equal(t, 2, n)
	assert.False(t, all, "nobody knows whether the last frame is the last one")
}

// The kernel does not know of code that was mapped a moment ago.
func TestStacksInFilesThatAreNew(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	now := f.image(t, pid)
	before := now.With(now.Mappings[:1])
	pcs := []addr.Virtual{now.Mappings[0].Start, now.Mappings[1].Start}
	f.now = 100e9
	f.all(t, pid)
	f.now = 101e9
	require.NoError(t, f.publish(f.spaces[pid], before, f.filesOf(before)))
	f.now = 102e9
	require.NoError(t, f.publish(f.spaces[pid], now, f.filesOf(now)))

	assert.True(t, f.Lacked(pid, 0, 99e9, now, pcs[:1]), "before anything was published")
	assert.False(t, f.Lacked(pid, 0, 100e9, now, pcs))
	assert.True(t, f.Lacked(pid, 0, 101e9, now, pcs))
	assert.False(t, f.Lacked(pid, 0, 101e9, now, pcs[:1]), "the other file is not in the stack")
	assert.False(t, f.Lacked(pid, 0, 102e9, now, pcs))
	assert.False(t, f.Lacked(pid, 7, 101e9, now, pcs), "another process")
}

// Every program asks that begins; those that are not profiled get nothing, and
// may ask again.
func TestOnlyWhatIsProfiledGetsTables(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	f.image(t, pid)
	f.opts.Wanted = func(r bpf.SpaceRequest) bool { return r.ExecID == 7 }
	f.kernel.spaces[pid] = bpf.Space{} // as the program leaves it
	f.all(t, pid)
	assert.Empty(t, f.spaces)
	assert.NotContains(t, f.kernel.spaces, pid)
	require.NoError(t, f.serve(bpf.SpaceRequest{PID: pid, ExecID: 7}))
	f.drainQueues(t)
	assert.Positive(t, f.kernel.spaces[pid].Count)
}

func TestEndedProcessesGiveTheirMappingsBack(t *testing.T) {
	f := newFixture(t, 1<<18, 1<<10)
	pid := child(t, "sleep", "60")
	f.image(t, pid)
	f.all(t, pid)
	require.NotZero(t, f.Stats().Mappings)
	require.NoError(t, f.forget(f.spaces[pid]))
	f.reclaim()
	assert.Zero(t, f.Stats().Mappings)
	assert.Zero(t, f.Stats().Processes)
}
