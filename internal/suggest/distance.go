package suggest

// longest bounds the work for a name that a user gave; names that exist are
// shorter.
const longest = 64

// Distance is the number of letters to insert, remove, replace or swap with the
// next one to make b of a (optimal string alignment). Names longer than those
// that exist have nothing in common.
func Distance(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	var before, above, row [longest + 1]int // of a without two letters, without one, and a
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above = above, row
		row[0] = i + 1
		for j := range len(b) {
			differs := 1
			if a[i] == b[j] {
				differs = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+differs)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
