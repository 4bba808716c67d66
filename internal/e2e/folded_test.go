//go:build integration

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stacks are folded stacks: frames, root first and joined by a semicolon, and
// their count. The first frame is the process.
type stacks map[string]int64

// readFolded reads a file of folded stacks. It is written from the format's
// description and not from our reader, which it so checks.
func readFolded(t *testing.T, path string) stacks {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseFolded(t, string(text))
}

func parseFolded(t *testing.T, text string) stacks {
	t.Helper()
	got := stacks{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "#") || line == "" {
			continue
		}
		cut := strings.LastIndexByte(line, ' ')
		require.Positive(t, cut, "line %q has no count", line)
		count, err := strconv.ParseInt(line[cut+1:], 10, 64)
		require.NoError(t, err, "line %q", line)
		got[line[:cut]] += count
	}
	return got
}

// of returns the stacks of one process name.
func (s stacks) of(process string) stacks {
	return s.with(func(frames []string) bool { return frames[0] == process })
}

// with returns the stacks whose frames, root first, satisfy keep.
func (s stacks) with(keep func(frames []string) bool) stacks {
	got := stacks{}
	for stack, count := range s {
		if keep(strings.Split(stack, ";")) {
			got[stack] = count
		}
	}
	return got
}

// through returns the stacks in which the names stand one upon the other, the
// first nearest to the root, with nothing in between.
func (s stacks) through(names ...string) stacks {
	return s.with(func(frames []string) bool {
		for ; len(frames) >= len(names); frames = frames[1:] {
			if startsWith(frames, names) {
				return true
			}
		}
		return false
	})
}

func startsWith(frames, names []string) bool {
	for i, name := range names {
		if frames[i] != name {
			return false
		}
	}
	return true
}

func (s stacks) total() int64 {
	var sum int64
	for _, count := range s {
		sum += count
	}
	return sum
}
