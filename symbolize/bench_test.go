package symbolize

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

const (
	llvmPath  = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"
	addresses = 100_000
	depth     = 50 // frames of a stack
)

// llvm maps libLLVM into process 7.
func llvm(b *testing.B) (proc string, m procmap.Mapping, pcs []addr.Virtual) {
	b.Helper()
	if _, err := os.Stat(llvmPath); err != nil {
		b.Fatal(err)
	}
	l := describe(b, llvmPath)
	proc, _ = fakeProc(b)
	m = l.mapping(base, llvmPath)
	mapFile(b, proc, m, llvmPath)
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[addr.Virtual]bool{}
	for len(pcs) < addresses {
		pc := m.Start + addr.Virtual(rng.Uint64N(uint64(m.Limit-m.Start)))
		if !seen[pc] {
			seen[pc] = true
			pcs = append(pcs, pc)
		}
	}
	return proc, m, pcs
}

func nameAll(s *Symbolizer, p *Process, pcs []addr.Virtual, dst []*Frame) []*Frame {
	for i := 0; i < len(pcs); i += depth {
		dst = s.User(p, pcs[i:min(i+depth, len(pcs))], dst[:0])
	}
	return dst
}

func perAddress(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/addresses, "ns/address")
}

// BenchmarkCold names 100,000 distinct addresses of libLLVM, opening it too.
func BenchmarkCold(b *testing.B) {
	proc, m, pcs := llvm(b)
	b.ReportAllocs()
	var held int64
	for b.Loop() {
		s := New(Options{ProcRoot: proc})
		nameAll(s, process(s, m), pcs, nil)
		held = s.Stats().CacheBytes
		s.Close()
	}
	perAddress(b)
	b.ReportMetric(float64(held), "held-B")
}

// BenchmarkWarm names them again.
func BenchmarkWarm(b *testing.B) {
	proc, m, pcs := llvm(b)
	s := New(Options{ProcRoot: proc})
	defer s.Close()
	p := process(s, m)
	dst := nameAll(s, p, pcs, nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = nameAll(s, p, pcs, dst)
	}
	perAddress(b)
}

// BenchmarkWarmSmall is the same for a stack that stays in the processor's
// caches.
func BenchmarkWarmSmall(b *testing.B) {
	proc, m, pcs := llvm(b)
	s := New(Options{ProcRoot: proc})
	defer s.Close()
	p := process(s, m)
	dst := s.User(p, pcs[:depth], nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = s.User(p, pcs[:depth], dst[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/address")
}

// BenchmarkFirstName opens libLLVM and names one address.
func BenchmarkFirstName(b *testing.B) {
	proc, m, pcs := llvm(b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for b.Loop() {
		s := New(Options{ProcRoot: proc})
		require.NotNil(b, one(s, process(s, m), pcs[0]))
		s.Close()
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Sys-before.Sys), "sys-B")
}

// BenchmarkCountedBytes compares what the caches say they hold with what the
// heap does.
func BenchmarkCountedBytes(b *testing.B) {
	proc, m, pcs := llvm(b)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := New(Options{ProcRoot: proc})
		p := process(s, m)
		nameAll(s, p, pcs, nil)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(s.Stats().CacheBytes), "counted-B")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "heap-B")
		runtime.KeepAlive(p)
		s.Close()
	}
}

// BenchmarkOpen pins the mapping of a file that is known, as happens some
// thousand times when the profiler starts.
func BenchmarkOpen(b *testing.B) {
	proc, m, _ := llvm(b)
	s := New(Options{ProcRoot: proc})
	defer s.Close()
	s.Open(7, m)
	b.ReportAllocs()
	for b.Loop() {
		s.Open(7, m)
	}
}

// BenchmarkKernel names the same kernel stack again.
func BenchmarkKernel(b *testing.B) {
	s := New(Options{})
	defer s.Close()
	r := s.KernelRanges("do_syscall_64", "schedule", "vfs_read")
	if len(r) == 0 {
		b.Fatal("kernel addresses are hidden")
	}
	pcs := make([]addr.Virtual, 15)
	for i := range pcs {
		pcs[i] = r[i%len(r)][0] + addr.Virtual(20+i)
	}
	dst := s.Kernel(pcs, nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = s.Kernel(pcs, dst[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/15, "ns/address")
}
