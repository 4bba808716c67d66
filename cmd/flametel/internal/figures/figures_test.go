package figures

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFigures(t *testing.T) {
	for want, got := range map[string]string{
		"0": Grouped(0), "999": Grouped(999), "1,000": Grouped(1000), "-1,234,567": Grouped(-1234567),
		"9,223,372,036,854,775,807": Grouped(math.MaxInt64),
		"1 frame":                   Counted(1, "frame", "frames"), "2,000 frames": Counted(2000, "frame", "frames"),
		"1 byte": Bytes(1), "12 kB": Bytes(12345), "1.2 MB": Bytes(1234567),
		"1 sample": Amount(1, "count"), "5 samples": Amount(5, ""), "3 kB": Amount(3000, "bytes"),
		"1.5 s": Amount(1_500_000_000, "nanoseconds"), "0.0 s": Amount(0, "nanoseconds"), "1.5 ms": Amount(1500, "microseconds"),
		"20 ms": Amount(20, "milliseconds"), "7.0 s": Amount(7, "seconds"), "1.2 µs": Amount(1200, "nanoseconds"), "9 ns": Amount(9, "nanoseconds"), "7 faults": Amount(7, "faults"),
	} {
		assert.Equal(t, want, got)
	}
}
