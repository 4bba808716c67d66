package gosym

import (
	"cmp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func sortRelocs(r [][2]uint64) {
	slices.SortFunc(r, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
}

// sampleImage has main.a, into which lib.b and then lib.c into that are
// inlined, main.main without inlined calls, and C code without tables.
func sampleImage(v Version) image {
	return image{version: v, funcs: []imageFunc{
		{
			name: "main.a", size: 60, padding: 4, startLine: 10, rows: []imageRow{
				{bytes: 10, line: 11, inline: -1},
				{bytes: 10, line: 12, inline: -1, stack: 24},
				{bytes: 10, file: 1, line: 100, inline: 0, stack: 24},
				{bytes: 20, file: 1, line: 200, inline: 1, stack: 24},
				{bytes: 10, line: 13, inline: -1},
			},
			calls: []inlinedCallRow{{"lib.b", 15, 99}, {"lib.c[go.shape.int]", 25, 199}},
		},
		{name: "main.main", size: 30, padding: 2, startLine: 20, rows: []imageRow{
			{bytes: 5, line: 21, inline: -1}, {bytes: 25, line: 300, inline: -1, stack: 1000},
		}, flags: flagTopFrame | flagAssembly},
		{name: "c_code", size: 32},
	}}
}

// withoutStart is what versions before 1.20 know.
func withoutStart(v Version, lines []Line) []Line {
	lines = slices.Clone(lines)
	for i := range lines {
		if v < Version120 {
			lines[i].StartLine = 0
		}
	}
	return lines
}

func TestLayoutsOfAllVersions(t *testing.T) {
	t.Parallel()
	for _, v := range []Version{Version116, Version118, Version120} {
		images := map[string]image{"fixed": sampleImage(v), "relocated": sampleImage(v), "no module": sampleImage(v), "moved data": sampleImage(v)}
		with := func(name string, change func(*image)) {
			i := images[name]
			change(&i)
			images[name] = i
		}
		with("relocated", func(i *image) { i.relocated = true })
		with("no module", func(i *image) { i.noModule = true })
		with("moved data", func(i *image) { i.dataWord = 47; i.noTextStart = true })
		for name, i := range images {
			t.Run(v.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				i.buildInfo = "go1.99.1"
				table, err := openBytes(i.build())
				require.NoError(t, err)
				assert.Equal(t, v, table.Version())
				assert.Equal(t, "go1.99.1", table.GoVersion())
				start, limit := table.Text()
				assert.Equal(t, []addr.File{imageText, imageText + 128}, []addr.File{start, limit})

				at := func(distance int) []Line { return linesAt(t, table, imageText+addr.File(distance)) }
				a := Line{Name: "main.a", File: imageFiles[0], StartLine: 10}
				a11, a12, a13 := a, a, a
				a11.Line, a12.Line, a13.Line = 11, 12, 13
				b := Line{Name: "lib.b", File: imageFiles[1], Line: 100, StartLine: 99}
				c := Line{Name: "lib.c[...]", RawName: "lib.c[go.shape.int]", File: imageFiles[1], Line: 200, StartLine: 199}
				assert.Equal(t, withoutStart(v, []Line{a11}), at(0))
				assert.Equal(t, withoutStart(v, []Line{a12}), at(10))
				assert.Equal(t, withoutStart(v, []Line{a13}), at(59))
				assert.Equal(t, []Line{{Name: "c_code"}}, at(127))
				assert.Empty(t, at(60), "padding")
				assert.Empty(t, at(63), "padding")
				assert.Empty(t, at(-1))
				assert.Empty(t, at(128))
				assert.Equal(t, withoutStart(v, []Line{{Name: "main.main", File: imageFiles[0], Line: 300, StartLine: 20}}), at(64+29))
				if !table.Inlines() {
					// The line is of an inlined call, not of main.a.
					assert.Equal(t, "no module", name)
					assert.Equal(t, withoutStart(v, []Line{{Name: "main.a", StartLine: 10}}), at(20))
					return
				}
				assert.Equal(t, withoutStart(v, []Line{b, a12}), at(20))
				assert.Equal(t, withoutStart(v, []Line{c, b, a12}), at(49))
			})
		}
	}
}

func TestFrameSizes(t *testing.T) {
	t.Parallel()
	table, err := openBytes(sampleImage(Version120).build())
	require.NoError(t, err)
	for distance, want := range map[int]int32{0: 0, 9: 0, 10: 24, 49: 24, 50: 0, 59: 0, 64: 0, 69: 1000, 93: 1000} {
		n, ok, err := table.FrameSize(imageText + addr.File(distance))
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, want, n, "at %d", distance)
	}
	for _, distance := range []int{-1, 60, 63, 94, 96, 128} {
		_, ok, err := table.FrameSize(imageText + addr.File(distance))
		require.NoError(t, err)
		assert.False(t, ok, "at %d", distance)
	}
	frames, err := table.Frames(imageText+30, nil)
	require.NoError(t, err)
	assert.Equal(t, []Frame{
		{imageText, imageText + 10, 0}, {imageText + 10, imageText + 50, 24}, {imageText + 50, imageText + 60, 0},
	}, frames)

	f, ok, err := table.Func(imageText + 64)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, Func{Start: imageText + 64, Limit: imageText + 96, Assembly: true, TopFrame: true}, f)
}

func TestWithoutTextStartNothingIsNamed(t *testing.T) {
	t.Parallel()
	i := sampleImage(Version120)
	i.noModule, i.noTextStart = true, true
	_, err := openBytes(i.build())
	require.ErrorIs(t, err, ErrFormat)
}

func TestReadableNames(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"main.main":                           "main.main",
		"main.F[go.shape.int]":                "main.F[...]",
		"main.(*T[go.shape.[]uint8]).M":       "main.(*T[...]).M",
		"main.F[go.shape.map[string]int].f.1": "main.F[...].f.1",
		"main.F[...]":                         "main.F[...]",
		"runtime.memmove.abi0":                "runtime.memmove",
		"odd]name[":                           "odd]name[",
		"[":                                   "[",
		"":                                    "",
	} {
		assert.Equal(t, want, readable(raw))
		if isReadable(raw) {
			assert.Equal(t, raw, want)
		}
	}
}

// TestShortenedNames has a name as Go 1.18 to 1.20 stored them.
func TestShortenedNames(t *testing.T) {
	t.Parallel()
	i := sampleImage(Version118)
	i.funcs[1].name = "main.F[...]"
	table, err := openBytes(i.build())
	require.NoError(t, err)
	for range 2 {
		assert.Equal(t, []Line{{Name: "main.F[...]", File: imageFiles[0], Line: 21}}, linesAt(t, table, imageText+64))
	}
}

// TestManyAtOnce looks up by several goroutines.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	table := openTable(t, goTool(t, "gofmt"))
	pcs := sampleText(table)[:2000]
	want := make([][]Line, len(pcs))
	for i, pc := range pcs {
		want[i] = linesAt(t, table, pc)
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for n := range pcs {
				i := (n*7 + worker*500) % len(pcs)
				got, err := table.Lookup(pcs[i], nil)
				assert.NoError(t, err)
				assert.Equal(t, want[i], got)
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, table.Bytes(), table.MaxBytes())
}
