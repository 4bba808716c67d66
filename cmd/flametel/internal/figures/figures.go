// Package figures writes numbers as people read them.
package figures

import (
	"fmt"
	"strconv"
)

// Grouped writes a number with commas: 1,234,567.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Counted writes a number of things.
func Counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Grouped(n) + " " + many
}

// Bytes writes a size.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return Counted(n, "byte", "bytes")
	case n < 1_000_000:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Amount writes a weight with its unit: 1,234 samples, 5.2 s, 3.1 MB.
func Amount(n int64, unit string) string {
	switch unit {
	case "count", "":
		return Counted(n, "sample", "samples")
	case "bytes":
		return Bytes(n)
	case "nanoseconds":
		return seconds(float64(n) / 1e9)
	case "microseconds":
		return seconds(float64(n) / 1e6)
	case "milliseconds":
		return seconds(float64(n) / 1e3)
	case "seconds":
		return seconds(float64(n))
	}
	return Grouped(n) + " " + unit
}

func seconds(s float64) string {
	switch {
	case s == 0 || s >= 1:
		return fmt.Sprintf("%.1f s", s)
	case s >= 1e-3:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s >= 1e-6:
		return fmt.Sprintf("%.3g µs", s*1e6)
	}
	return fmt.Sprintf("%.3g ns", s*1e9)
}
