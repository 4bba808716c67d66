package symbolize

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/debuginfo"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// inlining has calls that compilers inline, and a function that no table of a
// stripped file has.
const inlining = `
static inline __attribute__((always_inline)) int inner(int n) {
	return n * 3 + 1;
}
static inline __attribute__((always_inline)) int middle(volatile int *p) {
	int a = inner(*p);
	return a + *p;
}
__attribute__((noinline)) static int hidden(volatile int *p) {
	return middle(p) ^ 5;
}
int outer(volatile int *p) {
	return hidden(p) + hidden(p + 1);
}
`

// addr2line returns what binutils say of file addresses: function at file:line,
// the innermost first.
func addr2line(t testing.TB, file string, at ...addr.File) [][]string {
	t.Helper()
	return linesBy(t, "addr2line", file, at...)
}

// linesBy asks one of the tools that print as addr2line does.
func linesBy(t testing.TB, tool, file string, at ...addr.File) [][]string {
	t.Helper()
	cmd := exec.Command(tool, "-f", "-i", "-a", "-e", file)
	var in bytes.Buffer
	for _, a := range at {
		fmt.Fprintf(&in, "%#x\n", uint64(a))
	}
	cmd.Stdin = &in
	out, err := cmd.Output()
	require.NoError(t, err)
	var all [][]string
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 0; i < len(lines); {
		require.True(t, strings.HasPrefix(lines[i], "0x"), lines[i])
		i++
		var stack []string
		for ; i+1 < len(lines) && !strings.HasPrefix(lines[i], "0x"); i += 2 {
			place, _, _ := strings.Cut(lines[i+1], " ")
			stack = append(stack, lines[i]+" at "+place)
		}
		all = append(all, stack)
	}
	return all
}

// printed is a frame in the form of addr2line.
func printed(f *Frame) []string {
	var out []string
	for _, l := range f.Lines {
		linker := l.SystemName
		if linker == "" {
			linker = l.Name
		}
		file, line := l.File, strconv.FormatInt(l.Line, 10)
		if file == "" {
			file = "??"
		}
		if l.Line == 0 {
			line = "?"
		}
		out = append(out, linker+" at "+file+":"+line)
	}
	return out
}

// debugFixture is process 7 with a library of inlined calls.
type debugFixture struct {
	dir, proc, root string
	whole           *library // with symbols and debug information
	p               *Process
	s               *Symbolizer
}

// newDebug builds the library and maps the file that commands make of it, lib.so.
func newDebug(t *testing.T, o Options, commands ...string) *debugFixture {
	t.Helper()
	d := &debugFixture{}
	d.dir = fixture.Build(t, map[string]string{"a.c": inlining}, append([]string{
		"gcc -O2 -g -shared -fPIC -Wl,--build-id=sha1 -o whole.so a.c",
		"objcopy --only-keep-debug whole.so lib.debug",
		"strip -o stripped.so whole.so",
	}, commands...)...)
	d.whole = describe(t, filepath.Join(d.dir, "whole.so"))
	d.proc, d.root = fakeProc(t)
	o.ProcRoot = d.proc
	d.s = newPatient(o)
	t.Cleanup(d.s.Close)
	return d
}

func (d *debugFixture) open(t *testing.T) {
	t.Helper()
	l := describe(t, filepath.Join(d.dir, "lib.so"))
	m := l.mapping(base, "/srv/lib.so")
	mapFile(t, d.proc, m, l.path)
	d.p = process(d.s, m)
}

// at is the frame of a byte of the code.
func (d *debugFixture) at(function string, off addr.Virtual) *Frame {
	m := d.p.Mappings[0]
	return one(d.s, d.p, d.whole.at(m.Mapping, function)+off)
}

func (d *debugFixture) put(t *testing.T, file, to string) {
	t.Helper()
	to = filepath.Join(d.root, to)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	copyFile(t, filepath.Join(d.dir, file), to)
}

// agrees compares all bytes of both functions with addr2line.
func (d *debugFixture) agrees(t *testing.T) {
	t.Helper()
	var frames []*Frame
	var ats []addr.File
	for _, function := range []string{"hidden", "outer"} {
		for off := range addr.Virtual(12) {
			f := d.at(function, off)
			frames, ats = append(frames, f), append(ats, f.Address)
		}
	}
	want := addr2line(t, d.whole.path, ats...)
	inlined := 0
	for i, f := range frames {
		assert.Equal(t, want[i], printed(f), "%#x", ats[i])
		inlined = max(inlined, len(f.Lines))
	}
	assert.Equal(t, 3, inlined, "inner in middle in hidden")
}

func buildIDPath(l *library) string {
	id := hex.EncodeToString(l.buildID)
	return "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
}

func TestInlinedCallsAndLines(t *testing.T) {
	t.Parallel()
	t.Run("in the file itself", func(t *testing.T) {
		t.Parallel()
		d := newDebug(t, Options{}, "cp whole.so lib.so")
		d.open(t)
		d.agrees(t)
		f := d.at("hidden", 0)
		assert.Equal(t, int64(9), f.Lines[len(f.Lines)-1].StartLine)
	})
	t.Run("in a file named by build ID", func(t *testing.T) {
		t.Parallel()
		d := newDebug(t, Options{}, "cp stripped.so lib.so")
		d.put(t, "lib.debug", buildIDPath(d.whole))
		d.open(t)
		d.agrees(t)
	})
	t.Run("in a file named by link, beside symbols", func(t *testing.T) {
		t.Parallel()
		d := newDebug(t, Options{}, "strip --strip-debug -o lib.so whole.so", "objcopy --add-gnu-debuglink=lib.debug lib.so")
		d.put(t, "lib.debug", "/usr/lib/debug/srv/lib.debug")
		d.open(t)
		d.agrees(t)
	})
	t.Run("compressed", func(t *testing.T) {
		t.Parallel()
		d := newDebug(t, Options{}, "objcopy --compress-debug-sections whole.so lib.so")
		d.open(t)
		d.agrees(t)
	})
	t.Run("not wanted", func(t *testing.T) {
		t.Parallel()
		d := newDebug(t, Options{NoInlines: true}, "cp stripped.so lib.so")
		d.put(t, "lib.debug", buildIDPath(d.whole))
		d.open(t)
		assert.Equal(t, []Line{{Name: "hidden"}}, d.at("hidden", 3).Lines)
	})
}

func TestDebugFileWithoutOneOfItsOwnKeepsTheOffset(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp stripped.so lib.so")
	d.open(t)
	f := d.at("hidden", 3)
	assert.Equal(t, ReasonNoSymbol, f.Reason)
	assert.Equal(t, []Line{{Name: "outer"}}, d.at("outer", 3).Lines)
}

func TestDebugFileOfAnotherProgramIsNotUsed(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp stripped.so lib.so", "sed -i s/hidden/wrong/ a.c",
		"gcc -O1 -g -shared -fPIC -Wl,--build-id=0x0102 -o other.so a.c")
	d.put(t, "other.so", buildIDPath(d.whole))
	d.open(t)
	assert.Equal(t, ReasonNoSymbol, d.at("hidden", 3).Reason)
}

func TestMiniDebugInfo(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "objcopy -S --remove-section=.comment --keep-symbol=hidden whole.so mini", "xz mini",
		"objcopy --add-section .gnu_debugdata=mini.xz stripped.so lib.so")
	d.open(t)
	assert.Equal(t, []Line{{Name: "hidden"}}, d.at("hidden", 3).Lines)
}

func TestDebugInformationIsGivenBackAndReadAgain(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp whole.so lib.so")
	d.open(t)
	require.Greater(t, len(d.at("hidden", 0).Lines), 1)
	o := d.p.Mappings[0].Object
	held := o.detail.held.bytes
	require.Positive(t, held, "what is read is counted")
	before := d.s.Stats().CacheBytes
	d.s.opts.MaxCacheBytes = before - 1
	one(d.s, NewProcess(8, 0), 1) // another stack, for which there is no room left
	assert.Positive(t, d.s.Stats().Evictions)
	d.s.opts.MaxCacheBytes = 1 << 20
	d.agrees(t)
	for range 3 {
		d.s.User(NewProcess(8, 0), nil, nil)
	}
	var counted int64
	for _, h := range d.s.holdings {
		counted += h.bytes
	}
	assert.Equal(t, counted, d.s.held, "what is counted is the sum of what is held")
}

func TestLateDebugInformationNamesLater(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp whole.so lib.so")
	d.open(t)
	require.Greater(t, len(d.at("hidden", 0).Lines), 1)
	o := d.p.Mappings[0].Object
	o.detail.asking, o.detail.asked = make(chan answer, 1), o.detail.tables
	d.s.late = 1
	f := d.at("hidden", 2)
	assert.Equal(t, []Line{{Name: "hidden"}}, f.Lines)
	assert.Same(t, f, d.at("hidden", 2))
	o.detail.asking <- answer{}
	assert.Greater(t, len(d.at("hidden", 2).Lines), 1)
	assert.Zero(t, d.s.late)
}

// The answer may come when neither the tables that were asked nor the image
// that they belong to are wanted any more.
func TestLateAnswerOfWhatWasGivenBack(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp whole.so lib.so")
	d.open(t)
	require.Greater(t, len(d.at("hidden", 0).Lines), 1)
	o := d.p.Mappings[0].Object
	asked := o.detail.tables
	require.NotNil(t, asked.dwarf)
	o.detail.asking, o.detail.asked = make(chan answer, 1), asked
	d.s.late = 1
	giveBack(d.s)
	assert.Nil(t, o.image)
	assert.NotNil(t, asked.dwarf, "it is in use")
	o.detail.asking <- answer{dwarfBytes: 1 << 20}
	assert.Greater(t, len(d.at("hidden", 2).Lines), 1)
	assert.Nil(t, asked.dwarf)
	assert.Less(t, d.s.Stats().CacheBytes, int64(1<<20))
}

func TestFileThatChangesAfterItsSymbolsWereRead(t *testing.T) {
	t.Parallel()
	d := newDebug(t, Options{}, "cp whole.so lib.so")
	d.open(t)
	d.at("hidden", 0)
	require.NoError(t, os.Truncate(filepath.Join(d.dir, "lib.so"), 100))
	assert.Equal(t, []Line{{Name: "outer"}}, d.at("outer", 5).Lines, "its symbols are those that were mapped, its lines are gone")
}

// fetcher has the debug file once it is told so.
type fetcher struct {
	file  string
	there bool
	asked int
}

func (f *fetcher) Generation() uint64 {
	if f.there {
		return 1
	}
	return 0
}

func (f *fetcher) Find([]byte) (*debuginfo.Found, debuginfod.State) {
	f.asked++
	if !f.there {
		return nil, debuginfod.Pending
	}
	file, err := os.Open(f.file)
	if err != nil {
		return nil, debuginfod.Missing
	}
	info, err := file.Stat()
	if err != nil {
		return nil, debuginfod.Missing
	}
	e, err := elffile.New(file, info.Size())
	if err != nil {
		return nil, debuginfod.Missing
	}
	return &debuginfo.Found{File: file, ELF: e, Size: info.Size(), Path: f.file, Source: debuginfo.SourceDebuginfod}, debuginfod.Found
}

func TestFetchedFilesImproveNamesLater(t *testing.T) {
	t.Parallel()
	c := &clock{time.Unix(1e9, 0)}
	fetch := &fetcher{}
	d := newDebug(t, Options{Fetcher: fetch, Now: c.Now}, "cp stripped.so lib.so")
	fetch.file = filepath.Join(d.dir, "lib.debug")
	d.open(t)
	early := d.at("hidden", 0)
	assert.Equal(t, ReasonNoSymbol, early.Reason)
	assert.Same(t, early, d.at("hidden", 0))
	assert.Equal(t, 1, fetch.asked)
	fetch.there = true
	c.now = c.now.Add(newsInterval)
	d.agrees(t)
	assert.Equal(t, ReasonNoSymbol, early.Reason, "samples that were named before keep their frame")
}
