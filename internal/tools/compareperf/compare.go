//go:build linux

package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// top returns the names with the most samples, at most n. Equal ones are in the
// order of the alphabet.
func top(counts map[string]float64, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

// leading returns those of s's top functions that have at least leastShare: what
// a handful of samples says of the order of the others is chance.
func leading(s *summary) []string {
	return slices.DeleteFunc(top(s.functions, topFunctions), func(name string) bool {
		return s.functions[name] < leastShare*s.total
	})
}

// compareFunctions returns a row of the table and which part of perf's leading
// functions is among our top ones.
func compareFunctions(name string, perf, ours *summary) (row []string, overlap float64) {
	theirTop, ourTop := leading(perf), top(ours.functions, topFunctions)
	var both int
	for _, f := range theirTop {
		if slices.Contains(ourTop, f) {
			both++
		}
	}
	if len(theirTop) > 0 {
		overlap = float64(both) / float64(len(theirTop))
	}
	return []string{
		name, fmt.Sprintf("%.0f / %.0f", perf.total, ours.total),
		shares(theirTop, perf), shares(leading(ours), ours), fmt.Sprintf("%d of %d", both, len(theirTop)),
	}, overlap
}

// shares lists functions for people. Where this clone is says nothing.
func shares(names []string, s *summary) string {
	here, err := os.Getwd()
	parts := make([]string, len(names))
	for i, name := range names {
		shown := strings.ReplaceAll(name, "|", "\\|")
		if err == nil {
			shown = strings.ReplaceAll(shown, here+"/", "")
		}
		parts[i] = fmt.Sprintf("%s %.1f", shown, 100*s.functions[name]/s.total)
	}
	return strings.Join(parts, ", ")
}

// compareModules returns a row for each module with at least leastShare in
// either profile, and the largest difference of a share.
func compareModules(name string, perf, ours *summary) (rows [][]string, worst float64) {
	names := map[string]bool{}
	for _, s := range []*summary{perf, ours} {
		for module, n := range s.modules {
			if n >= leastShare*s.total {
				names[module] = true
			}
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
