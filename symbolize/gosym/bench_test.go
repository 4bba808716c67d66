package gosym

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// benchPath is a large Go program: FLAMETEL_BENCH_GO if set, else the compiler.
func benchPath(b *testing.B) string {
	b.Helper()
	if path := os.Getenv("FLAMETEL_BENCH_GO"); path != "" {
		return path
	}
	return goTool(b, "compile")
}

// BenchmarkOpen opens a program and names its first address.
func BenchmarkOpen(b *testing.B) {
	f, err := os.Open(benchPath(b))
	require.NoError(b, err)
	defer f.Close()
	st, err := f.Stat()
	require.NoError(b, err)
	var table *Table
	for b.Loop() {
		e, err := elffile.New(f, st.Size())
		require.NoError(b, err)
		table, err = Open(e, f)
		require.NoError(b, err)
		start, _ := table.Text()
		_, err = table.Lookup(start, nil)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(st.Size())/(1<<20), "file-MB")
	b.ReportMetric(float64(table.Len()), "functions")
	b.ReportMetric(float64(table.Bytes())/1024, "held-KB")
}

// BenchmarkLookup looks up addresses: of all of the text at random, so that
// pages are read again and again, and of the few functions that a program
// spends its time in.
func BenchmarkLookup(b *testing.B) {
	for name, count := range map[string]int{"hot": 100, "random": 1 << 16} {
		b.Run(name, func(b *testing.B) {
			table := openTable(b, benchPath(b))
			start, limit := table.Text()
			r := rand.New(rand.NewPCG(1, 2))
			pcs := make([]addr.File, count)
			for i := range pcs {
				pcs[i] = start + addr.File(r.Uint64N(uint64(limit-start)))
				if name == "hot" {
					pcs[i] = start + (limit-start)/2 + addr.File(r.Uint64N(1<<14))
				}
			}
			var lines []Line
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				lines, _ = table.Lookup(pcs[i%len(pcs)], lines[:0])
			}
			b.ReportMetric(float64(table.Bytes())/1024, "held-KB")
		})
	}
}
