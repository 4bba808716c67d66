package symbolize

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/flametel/flametel/symbolize/addr"
)

// BenchmarkFirstNameOfBigPrograms opens programs of 50 to 110 MB, one of them in Go,
// and names one address.
func BenchmarkFirstNameOfBigPrograms(b *testing.B) {
	for _, file := range []string{"/usr/bin/node", "../bin/otelcol", llvmPath} {
		b.Run(filepath.Base(file), func(b *testing.B) {
			if _, err := os.Stat(file); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var held int64
			symbols := 0
			for b.Loop() {
				s := New(Options{})
				p, err := s.OpenFile(file)
				if err != nil {
					b.Fatal(err)
				}
				m := p.Mappings[0]
				one(s, p, m.Start+addr.Virtual(m.Limit-m.Start)/2)
				held = s.Stats().CacheBytes
				symbols = m.Object.image.symbols.Len()
				s.Close()
			}
			b.ReportMetric(float64(held), "held-B")
			if symbols > 0 { // Go programs have a table of their own
				b.ReportMetric(float64(held)/float64(symbols), "B/symbol")
			}
		})
	}
}

// BenchmarkManyLibraries names 50 addresses in each of up to 150 libraries of
// this host, and says what that holds.
func BenchmarkManyLibraries(b *testing.B) {
	files, err := filepath.Glob("/usr/lib/x86_64-linux-gnu/*.so.*")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := New(Options{})
		var all []*Process
		symbols := 0
		for _, file := range files {
			info, err := os.Lstat(file)
			if err != nil || !info.Mode().IsRegular() || len(all) == 150 || strings.Contains(file, "libLLVM") {
				continue
			}
			p, err := s.OpenFile(file)
			if err != nil {
				continue
			}
			m := p.Mappings[0]
			for i := range addr.Virtual(50) {
				one(s, p, m.Start+(m.Limit-m.Start)/50*i)
			}
			if img := m.Object.image; img != nil && img.symbols != nil {
				symbols += img.symbols.Len()
			}
			all = append(all, p)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		held := s.Stats().CacheBytes
		b.ReportMetric(float64(len(all)), "libraries")
		b.ReportMetric(float64(held), "held-B")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc), "heap-B")
		b.ReportMetric(float64(symbols), "symbols")
		runtime.KeepAlive(all)
		s.Close()
	}
}
