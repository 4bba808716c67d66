//go:build linux

package event

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
)

func sample(flags bpf.SampleFlags, detail, stack, count uint64, sums ...uint64) bpf.Sample {
	s := bpf.Sample{PID: 7, Flags: flags, Detail: detail, User: []uint64{stack}, Count: count}
	if flags&bpf.Total != 0 {
		s.User = nil
	}
	copy(s.Sums[:], sums)
	return s
}

func TestTotalsAreSharedOutAmongStacks(t *testing.T) {
	got := shareOut([]bpf.Sample{
		sample(bpf.Selected, 1, 10, 1, 100, 0, 3),
		sample(bpf.Total, 1, 0, 60, 1000),
		sample(bpf.Total, 1, 0, 40, 1),            // of another CPU
		sample(bpf.Selected, 1, 11, 2, 300, 0, 1), // fewer, but slower
		sample(bpf.Selected, 1, 12, 1, 5, 0, 0),   // a first one: others were chosen
		sample(0, 1, 13, 2, 9999),                 // counted by itself
		sample(bpf.Total, 2, 0, 5, 50),            // nobody looked
		sample(bpf.Total, 3, 0, 7, 70),            // only the first was looked at
		sample(bpf.Selected, 3, 14, 1, 2, 0, 0),
		sample(bpf.Selected, 4, 15, 1, 2, 0, 1), // its total was lost
	})
	want := []bpf.Sample{
		sample(0, 1, 13, 2, 9999),
		sample(0, 1, 10, 75, 250),
		sample(0, 1, 11, 25, 751),
		{PID: 7, Detail: 2, Count: 5, Sums: [3]uint64{50}, End: bpf.EndNotLooked},
		sample(0, 3, 14, 7, 70),
	}
	assert.Equal(t, want, got)
}

// What a process ran before an exec has no part in what it runs after it.
func TestTotalsOfProgramsAreKeptApart(t *testing.T) {
	of := func(exec uint16, s bpf.Sample) bpf.Sample {
		s.Exec = exec
		return s
	}
	assert.Equal(t, []bpf.Sample{of(1, sample(0, 1, 10, 500)), of(2, sample(0, 1, 11, 100))}, shareOut([]bpf.Sample{
		of(1, sample(bpf.Total, 1, 0, 500)), of(2, sample(bpf.Total, 1, 0, 100)),
		of(1, sample(bpf.Selected, 1, 10, 1, 0, 0, 1)), of(2, sample(bpf.Selected, 1, 11, 9, 0, 0, 9)),
	}))
}

// Whatever the weights, parts add up to the total, also beyond 64 bits on the way.
func TestPartsAddUp(t *testing.T) {
	const calls, nanos = 1<<40 + 7, 1<<60 + 11
	samples := []bpf.Sample{sample(bpf.Total, 1, 0, calls, nanos, 3)}
	for i := range uint64(97) {
		samples = append(samples, sample(bpf.Selected, 1, i, 1, 1<<50+i*i, i, 1<<30+i))
	}
	var count uint64
	var sums [3]uint64
	for _, s := range shareOut(samples) {
		assert.Zero(t, s.Flags)
		count += s.Count
		for k := range sums {
			sums[k] += s.Sums[k]
		}
	}
	assert.EqualValues(t, calls, count)
	assert.Equal(t, [3]uint64{nanos, 3}, sums)
}

func TestTexts(t *testing.T) {
	words := func(s string) (out []uint64) {
		b := append([]byte(s), make([]byte, 8-len(s)%8)...)
		for ; len(b) > 0; b = b[8:] {
			var w uint64
			for i := range 8 {
				w |= uint64(b[i]) << (8 * i)
			}
			out = append(out, w)
		}
		return out
	}
	assert.Equal(t, []string{"lib/x.so", "/opt/app"}, Texts(append(words("lib/x.so"), words("/opt/app")...)))
	assert.Equal(t, []string{"a"}, Texts(words("a")))
	assert.Empty(t, Texts(nil))
	assert.Empty(t, Texts([]uint64{0, 0}))
}
