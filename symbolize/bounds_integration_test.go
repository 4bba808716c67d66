//go:build integration

package symbolize

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// TestHugeProgram names functions of a library that has 400,000 with debug
// information, while its neighbour, which is small, has names at once.
func TestHugeProgram(t *testing.T) {
	const functionsOfIt = 400_000
	var src bytes.Buffer
	src.WriteString("	.text\n")
	for i := range functionsOfIt {
		fmt.Fprintf(&src, "	.globl function_%[1]d\n	.type function_%[1]d,@function\nfunction_%[1]d:\n	ret\n	nop\n	.size function_%[1]d,.-function_%[1]d\n", i)
	}
	dir := fixture.Build(t, map[string]string{"huge.s": src.String()}, "gcc -g -shared -nostdlib -o huge.so huge.s")
	src.Reset()
	small := functions(t, "", "small_function")
	code := describeCode(t, filepath.Join(dir, "huge.so")).code
	section := textOf(t, filepath.Join(dir, "huge.so"))

	s := newPatient(Options{})
	t.Cleanup(s.Close)
	huge, err := s.OpenFile(filepath.Join(dir, "huge.so"))
	require.NoError(t, err)
	neighbour, err := s.OpenFile(small.path)
	require.NoError(t, err)
	// As if the huge one were being read still.
	o := huge.Mappings[0].Object
	o.loading, s.late = make(chan *image, 1), 1
	assert.Equal(t, ReasonUnreadable, one(s, huge, addr.Virtual(section)).Reason)
	at := addr.Virtual(small.code.Vaddr) + addr.Virtual(small.offsets["small_function"]) - addr.Virtual(small.code.Off)
	assert.Equal(t, "small_function", name(one(s, neighbour, at)))
	o.loading <- s.load(o, nil)

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, i := range []uint64{0, 1, functionsOfIt / 2, functionsOfIt - 1} {
		f := one(s, huge, addr.Virtual(section+2*i))
		require.Less(t, uint64(f.Address), code.Vaddr+code.Filesz)
		assert.Equal(t, fmt.Sprintf("function_%d", i), name(f))
		assert.Equal(t, int64(4+6*i), f.Lines[0].Line-1, "after three lines of directives")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := s.Stats().CacheBytes
	t.Logf("%.1f MB held, %.1f bytes for each function; heap %.1f MB", float64(held)/1e6, float64(held)/functionsOfIt, float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/1e6)
	assert.Less(t, held, int64(64<<20))
}

// textOf returns where the code section of a file is.
func textOf(t *testing.T, file string) uint64 {
	t.Helper()
	ats := sampled(t, file)
	return uint64(ats[0]) &^ 0xfff
}

// TestCachesOfThisHostsLibrariesAreBounded names code of many libraries, three
// times in turn, in less memory than they take together.
func TestCachesOfThisHostsLibrariesAreBounded(t *testing.T) {
	assert.Equal(t, int64(128<<20), New(Options{}).opts.MaxCacheBytes)
	const room, libraries, each = 2 << 20, 150, 100
	files, err := filepath.Glob("/usr/lib/x86_64-linux-gnu/*.so.*")
	require.NoError(t, err)
	s := newPatient(Options{MaxCacheBytes: room})
	t.Cleanup(s.Close)
	var all []*Process
	for _, file := range files {
		info, err := os.Lstat(file)
		if err != nil || !info.Mode().IsRegular() || strings.Contains(file, "libLLVM") || len(all) == libraries {
			continue
		}
		if p, err := s.OpenFile(file); err == nil {
			all = append(all, p)
		}
	}
	require.Len(t, all, libraries)
	names := map[string]string{}
	named := 0
	for round := range 3 {
		for i, p := range all {
			m := p.Mappings[0]
			for j := range addr.Virtual(each) {
				at := m.Start + (m.Limit-m.Start)/each*j
				got, place := name(one(s, p, at)), fmt.Sprint(i, " ", at)
				require.LessOrEqual(t, s.Stats().CacheBytes, int64(room))
				if round == 0 {
					names[place] = got
					named += min(1, len(got))
				} else {
					require.Equal(t, names[place], got)
				}
			}
		}
	}
	t.Logf("%d of %d addresses named, %+v", named, libraries*each, s.Stats())
	assert.Positive(t, named)
	assert.Positive(t, s.Stats().Evictions)
}
