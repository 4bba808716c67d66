//go:build linux

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// top returns the names with the most samples, at most n, each with at least
// leastShare of all. Equal ones are in the order of the alphabet.
func top(counts map[string]float64, total float64, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return counts[name] < leastShare*total })
	return names[:min(n, len(names))]
}

// compareFunctions returns a row of the table and which part of perf's top
// functions is among ours. A function outside our top has a place in it too if
// its share is the same within the noise: which of two functions with a handful
// of samples each leads the other says nothing.
func compareFunctions(name string, perf, ours *summary) (row []string, overlap float64) {
	theirTop := top(perf.functions, perf.total, topFunctions)
	ourTop := top(ours.functions, ours.total, topFunctions)
	var both int
	for _, f := range theirTop {
		same := math.Abs(perf.functions[f]/perf.total-ours.functions[f]/math.Max(1, ours.total)) < noise
		if same || slices.Contains(ourTop, f) {
			both++
		}
	}
	if len(theirTop) > 0 {
		overlap = float64(both) / float64(len(theirTop))
	}
	return []string{
		name, fmt.Sprintf("%.0f / %.0f", perf.total, ours.total),
		shares(theirTop, perf), shares(ourTop, ours), fmt.Sprintf("%.0f %%", 100*overlap),
	}, overlap
}

func shares(names []string, s *summary) string {
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %.1f", strings.ReplaceAll(name, "|", "\\|"), 100*s.functions[name]/s.total)
	}
	return strings.Join(parts, ", ")
}

// compareModules returns a row for each module with at least leastShare in
// either profile, and the largest difference of a share.
func compareModules(name string, perf, ours *summary) (rows [][]string, worst float64) {
	names := map[string]bool{}
	for _, s := range []*summary{perf, ours} {
		for _, module := range top(s.modules, s.total, len(s.modules)) {
			names[module] = true
		}
	}
	for _, module := range slices.Sorted(maps.Keys(names)) {
		theirs := perf.modules[module] / math.Max(1, perf.total)
		mine := ours.modules[module] / math.Max(1, ours.total)
		worst = math.Max(worst, math.Abs(theirs-mine))
		rows = append(rows, []string{
			name, module,
			fmt.Sprintf("%.1f %%", 100*theirs), fmt.Sprintf("%.1f %%", 100*mine), fmt.Sprintf("%+.1f", 100*(mine-theirs)),
		})
	}
	return rows, worst
}
