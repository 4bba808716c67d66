package top

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The number of samples is told also if the profiler does not account for them.
func TestHeaderAlwaysHasTheSamples(t *testing.T) {
	t.Parallel()
	unknown := &table{all: 1234}
	assert.Equal(t, "flametel top  the whole host  1,234 samples  99 Hz  own CPU 1.0%", unknown.facts(facts{subject: "the whole host", frequency: 99, own: 0.01}))
	known := &table{all: 7}
	known.host.known = true
	assert.Contains(t, known.facts(facts{}), "  7 samples in ")
}

// What the number beside the view counts is said.
func TestViewSaysWhatItCounts(t *testing.T) {
	t.Parallel()
	v := &view{}
	v.sort = bySelf
	assert.Equal(t, "1,944 functions by self time", v.choiceText(&table{rows: make([]row, 1944)}))
	assert.Equal(t, "1 function by self time", v.choiceText(&table{rows: make([]row, 1)}))
}
