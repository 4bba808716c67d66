package suggest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"durtion", "duration", 1},
		{"", "abc", 3},
		{"kitten", "sitting", 3},
		{"abc", "acb", 1},
		{"ab", "ba", 1},
		{"abcd", "badc", 2},
		{"ca", "abc", 3}, // swapped letters stay beside each other
		{strings.Repeat("x", longest), strings.Repeat("x", longest), 0},
		{long, "x", 1000},
		{long, long, 1000},
	} {
		assert.Equal(t, test.want, Distance(test.a, test.b), "%s %s", test.a, test.b)
		assert.Equal(t, test.want, Distance(test.b, test.a), "%s %s", test.b, test.a)
	}
}
