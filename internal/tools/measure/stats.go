package measure

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Median returns the middle of values, or the mean of the two in the middle. It
// is 0 for none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Spread says from where to where values range, in per cent around their median.
func Spread(values []float64) string {
	middle := Median(values)
	if middle == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f .. %+.1f %%", 100*(slices.Min(values)/middle-1), 100*(slices.Max(values)/middle-1))
}

// Table writes rows as a Markdown table; the first row is the header.
func Table(w io.Writer, rows [][]string) error {
	for i, row := range rows {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
		if i == 0 {
			if _, err := fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(row))); err != nil {
				return err
			}
		}
	}
	return nil
}
