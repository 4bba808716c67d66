package dwarfline

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// fuzzedSections are the sections that the fuzzer changes, in the order of its
// arguments.
var fuzzedSections = [...]sectionID{secInfo, secAbbrev, secLine, secStr, secRanges, secRnglists, secAddr, secAranges}

// seedFlags make small files that together have all that is read.
var seedFlags = []string{
	"gcc -gdwarf-5", "gcc -gdwarf-4", "gcc -gdwarf-2 -gstrict-dwarf", "clang-14 -gdwarf-5", "clang-14 -gdwarf-4 -gsplit-dwarf", "gcc -gdwarf-5 -gdwarf64",
}

func seeds(t testing.TB) []string {
	t.Helper()
	var paths []string
	for _, flags := range seedFlags {
		dir := fixture.Build(t, chain, flags+" -O2 -nostdlib -static -Wl,--build-id=none -o a chain.c")
		paths = append(paths, filepath.Join(dir, "a"))
	}
	return paths
}

const (
	fuzzCode      = 0x1000 // where the code of fuzzed files is said to be
	fuzzCodeLimit = 0x500000
)

// dataOf makes a Data of bare sections.
func dataOf(parts ...[]byte) *Data {
	im := &image{}
	for i, b := range parts {
		im.sec[fuzzedSections[i]] = section{r: bytes.NewReader(b), size: uint64(len(b))}
	}
	im.sec[secLineStr] = im.sec[secStr]
	im.sec[secStrOffsets] = im.sec[secAddr]
	return &Data{
		opts: Options{MaxBytes: 1 << 20}, work: 32 << 20, main: im, supplement: im, loaded: make(map[*unitHead]*unit),
		code: [][2]uint64{{fuzzCode, fuzzCodeLimit}},
	}
}

// probe looks up addresses where something changes.
func probe(t *testing.T, d *Data) {
	t.Helper()
	pcs := []addr.File{0, fuzzCode, 1<<64 - 1}
	_, _ = d.Lookup(0, nil)
	for i, c := range d.index {
		if i > 8 {
			break
		}
		for _, step := range []uint64{0, 1, 0x10, 0x18, 0x20, 0x40} {
			pcs = append(pcs, addr.File(c.start+step))
		}
	}
	var before [1]Line
	for _, pc := range pcs {
		lines, err := d.Lookup(pc, before[:])
		require.GreaterOrEqual(t, len(lines), 1)
		if err != nil {
			require.Len(t, lines, 1)
			require.False(t, passing(err), "%v", err)
		}
		again, err2 := d.Lookup(pc, before[:])
		require.Equal(t, err == nil, err2 == nil)
		require.Equal(t, lines, again)
	}
	require.Less(t, d.Bytes(), int64(64<<20))
}

func FuzzSections(f *testing.F) {
	for _, path := range seeds(f) {
		e, err := elf.Open(path)
		require.NoError(f, err)
		var parts [len(fuzzedSections)][]byte
		for i, id := range fuzzedSections {
			if s := e.Section(".debug_" + sectionNames[id]); s != nil {
				parts[i], err = s.Data()
				require.NoError(f, err)
			}
		}
		e.Close()
		f.Add(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5], parts[6], parts[7])
	}
	f.Fuzz(func(t *testing.T, info, abbrev, line, str, ranges, rnglists, addrs, aranges []byte) {
		probe(t, dataOf(info, abbrev, line, str, ranges, rnglists, addrs, aranges))
	})
}

func FuzzFile(f *testing.F) {
	paths := seeds(f)
	dir := filepath.Dir(paths[0])
	fixture.Build(f, nil, "objcopy --compress-debug-sections=zlib "+paths[0]+" "+filepath.Join(dir, "zlib"),
		"objcopy --compress-debug-sections=zlib-gnu "+paths[0]+" "+filepath.Join(dir, "gnu"))
	for _, path := range append(paths, filepath.Join(dir, "zlib"), filepath.Join(dir, "gnu")) {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := elffile.New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		d, err := Open(e, bytes.NewReader(b), Options{MaxUnpacked: 4 << 20})
		if err == nil {
			probe(t, d)
		}
	})
}
