package symbolize

import (
	"debug/elf"
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

const staticsSource = `
static __attribute__((noinline, used)) long first(long n) { for (volatile long i = 0; i < n; i++); return n; }
static __attribute__((noinline, used)) long second(long n) { for (volatile long i = 0; i < n; i++) n ^= i; return n; }
int main(int argc, char **argv) { return first(argc) + second(argc); }
`

// stripped is a program with two static functions and without symbols, mapped
// into process 7.
type stripped struct {
	lib     *library
	mapping procmap.Mapping
	symbols map[string]elf.Symbol
	proc    string
}

func newStripped(t testing.TB, flags string) *stripped {
	t.Helper()
	dir := fixture.Build(t, map[string]string{"a.c": staticsSource}, "gcc -O1 "+flags+" -o whole a.c", "strip -o stripped whole")
	s := &stripped{lib: describeCode(t, filepath.Join(dir, "stripped")), symbols: map[string]elf.Symbol{}}
	e, err := elf.Open(filepath.Join(dir, "whole"))
	require.NoError(t, err)
	defer e.Close()
	symbols, err := e.Symbols()
	require.NoError(t, err)
	for _, x := range symbols {
		s.symbols[x.Name] = x
	}
	s.proc, _ = fakeProc(t)
	s.mapping = s.lib.mapping(base, "/srv/stripped")
	mapFile(t, s.proc, s.mapping, s.lib.path)
	return s
}

// at is where a file address is mapped.
func (s *stripped) at(file uint64) addr.Virtual {
	return s.mapping.Start + addr.Virtual(file-s.lib.code.Vaddr+s.lib.code.Off) - addr.Virtual(s.mapping.Offset)
}

type functionRange struct{ start, limit addr.File }

// Each address of the two functions is a frame of its own, without a name, but
// in one of two functions.
func TestUnnamedFunctionsAreTold(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-no-pie -fno-pie", "-fuse-ld=gold"} {
		f := newStripped(t, flags)
		s := newPatient(Options{ProcRoot: f.proc})
		t.Cleanup(s.Close)
		p := process(s, f.mapping)
		frames, want := map[functionRange]int{}, map[functionRange]int{}
		for _, name := range []string{"first", "second"} {
			x := f.symbols[name]
			want[functionRange{addr.File(x.Value), addr.File(x.Value + x.Size)}] = int(x.Size)
			for at := x.Value; at < x.Value+x.Size; at++ {
				g := one(s, p, f.at(at))
				require.Empty(t, g.Lines)
				require.Equal(t, ReasonNoSymbol, g.Reason)
				require.Equal(t, addr.File(at), g.Address, "its own address")
				require.Same(t, g, one(s, p, f.at(at)))
				frames[functionRange{g.FunctionStart, g.FunctionLimit}]++
			}
		}
		assert.Equal(t, want, frames, flags)
		main := one(s, p, f.at(f.symbols["main"].Value))
		assert.Equal(t, "main", name(main))
		assert.Zero(t, main.FunctionLimit, "what has a name needs no range")
		end := one(s, p, f.mapping.Limit-1)
		assert.Empty(t, end.Lines)
		assert.Zero(t, end.FunctionLimit, "no function is at the end of the mapping")
	}
}

func TestUnnamedFunctionsWithoutUnwindInformation(t *testing.T) {
	t.Parallel()
	f := newStripped(t, "-Wl,--no-eh-frame-hdr")
	s := newPatient(Options{ProcRoot: f.proc})
	defer s.Close()
	g := one(s, process(s, f.mapping), f.at(f.symbols["first"].Value+4))
	assert.Empty(t, g.Lines)
	assert.Zero(t, g.FunctionStart)
	assert.Zero(t, g.FunctionLimit)
}

func TestUnnamedFunctionsOfChangedFiles(t *testing.T) {
	t.Parallel()
	f := newStripped(t, "")
	s := newPatient(Options{ProcRoot: f.proc})
	defer s.Close()
	p := process(s, f.mapping)
	require.Equal(t, "main", name(one(s, p, f.at(f.symbols["main"].Value))))
	require.NoError(t, os.Truncate(f.lib.path, 100))
	assert.Zero(t, one(s, p, f.at(f.symbols["second"].Value)).FunctionLimit, "the file is not the one that was mapped")
}

// Frames that were made before an answer came are made again.
func TestUnnamedFunctionsThatAreLate(t *testing.T) {
	t.Parallel()
	f := newStripped(t, "")
	s := newPatient(Options{ProcRoot: f.proc})
	defer s.Close()
	p := process(s, f.mapping)
	first := f.at(f.symbols["first"].Value)
	require.Equal(t, "main", name(one(s, p, f.at(f.symbols["main"].Value))))
	o := p.Mappings[0].Object
	o.detail.asking, o.detail.asked = make(chan answer, 1), o.detail.tables
	s.late = 1
	assert.Zero(t, one(s, p, first).FunctionLimit)
	before := s.Stats().CacheBytes
	o.detail.asking <- o.detail.tables.lookup(0, true)
	assert.NotZero(t, one(s, p, first).FunctionLimit)
	assert.NotZero(t, one(s, p, first+1).FunctionLimit)
	assert.GreaterOrEqual(t, s.Stats().CacheBytes-before, o.functions.Bytes(), "it is counted")
	giveBack(s)
	assert.Nil(t, o.functions)
	assert.NotZero(t, one(s, p, first).FunctionLimit, "it is read again")
}

func TestWarmLookupsOfUnnamedFunctions(t *testing.T) {
	f := newStripped(t, "")
	s := newPatient(Options{ProcRoot: f.proc})
	defer s.Close()
	p := process(s, f.mapping)
	var pcs []addr.Virtual
	for i := range uint64(16) {
		pcs = append(pcs, f.at(f.symbols["second"].Value+i))
	}
	dst := s.User(p, pcs, nil)
	assert.Zero(t, testing.AllocsPerRun(100, func() { dst = s.User(p, pcs, dst[:0]) }))
}

// BenchmarkUnnamed names addresses of unnamed functions for the first time, and
// again.
func BenchmarkUnnamed(b *testing.B) {
	f := newStripped(b, "")
	x := f.symbols["second"]
	var pcs []addr.Virtual
	for i := range x.Size {
		pcs = append(pcs, f.at(x.Value+i))
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		var took time.Duration
		for b.Loop() {
			s := newPatient(Options{ProcRoot: f.proc})
			p := process(s, f.mapping)
			one(s, p, f.at(f.symbols["first"].Value))
			began := time.Now()
			s.User(p, pcs, nil)
			took += time.Since(began)
			s.Close()
		}
		b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(len(pcs)), "ns/address")
	})
	b.Run("warm", func(b *testing.B) {
		s := newPatient(Options{ProcRoot: f.proc})
		defer s.Close()
		p := process(s, f.mapping)
		dst := s.User(p, pcs, nil)
		b.ReportAllocs()
		for b.Loop() {
			dst = s.User(p, pcs, dst[:0])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(pcs)), "ns/address")
	})
}
