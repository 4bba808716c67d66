package symbolize

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/symbolize/elffile"
)

// TestFileThatAnswersLate has the reading of one file hang, as on a network
// file system that is gone, and others go on.
func TestFileThatAnswersLate(t *testing.T) {
	t.Parallel()
	l := functions(t, "-Wl,--build-id=0x01", "f")
	proc, ms := copies(t, l, 2)
	s := newPatient(Options{ProcRoot: proc})
	defer s.Close()
	p := process(s, ms...)
	late := p.Mappings[0].Object
	late.loading = make(chan *image, 1)
	s.late = 1
	start := time.Now()
	for range 50 {
		assert.Equal(t, ReasonUnreadable, one(s, p, l.at(ms[0], "f")).Reason)
	}
	assert.Less(t, time.Since(start), 10*time.Second, "it is not waited for each time")
	assert.Equal(t, "f", name(one(s, p, l.at(ms[1], "f"))))
	late.loading <- s.load(late, nil)
	assert.Equal(t, "f", name(one(s, p, l.at(ms[0], "f"))))
	assert.Zero(t, s.late)
}

func TestMapThatAnswersLate(t *testing.T) {
	t.Parallel()
	j := newJIT(t)
	j.write(t, "7f0000000000 10 f\n")
	known := j.at(5)
	assert.Equal(t, "f", name(known))
	j.p.jit.reading = make(chan jitResult, 1)
	assert.Same(t, known, j.at(5))
	assert.Equal(t, ReasonNoMap, j.at(6).Reason)
	j.p.jit.reading <- jitResult{}
	assert.Equal(t, "f", name(j.at(6)))
}

func TestReadImageOfNothing(t *testing.T) {
	t.Parallel()
	img := (&reading{}).image(nothing{}, 100)
	assert.Equal(t, ReasonMalformed, img.reason)
	assert.False(t, img.foreign)
	assert.Nil(t, img.symbols)
	assert.Equal(t, []elffile.Segment(nil), img.segments)
}

// nothing is a file that has become empty.
type nothing struct{}

func (nothing) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
