package elffile

import (
	"os"
	"testing"
)

// BenchmarkSymbols opens big files of the host, symbols only.
func BenchmarkSymbols(b *testing.B) {
	for name, path := range map[string]string{
		"libLLVM": "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
		"node":    "/usr/bin/node",
		"libc":    "/lib/x86_64-linux-gnu/libc.so.6",
	} {
		b.Run(name, func(b *testing.B) {
			file, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			info, err := file.Stat()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			var syms *Symbols
			for b.Loop() {
				f, err := New(file, info.Size())
				if err != nil {
					b.Fatal(err)
				}
				if syms, err = f.Symbols(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(syms.Bytes()), "held-B")
			b.ReportMetric(float64(syms.Bytes())/float64(syms.Len()), "held-B/symbol")
		})
	}
}
