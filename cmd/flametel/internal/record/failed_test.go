package record

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/exporter"
)

func TestOutputsThatWereNotWritten(t *testing.T) {
	t.Parallel()
	full := &exporter.LostError{Err: fmt.Errorf("write a.svg: %w", syscall.ENOSPC), Samples: 5}
	broken := &exporter.LostError{Err: errors.New("write a.pb.gz: broken"), Samples: 5}
	for want, outputs := range map[string][]output{
		"": {{path: "a.svg"}, {path: "-"}},
		"write a.svg: no space left on device; choose another place with --output, or a smaller file with --max-size": {
			{path: "a.svg", failed: full}, {path: "a.folded"},
		},
		"write a.svg: no space left on device; samples lost: 5; choose another place with --output, or a smaller file with --max-size": {
			{path: "a.svg", failed: full, sampleType: "events"}, {path: "b.svg", sampleType: "off_cpu"},
		},
		"write a.svg: no space left on device; samples lost: 5; choose another place with --output": {{path: "a.folded", failed: full}},
		"write a.pb.gz: broken": {{path: "a.pb.gz", failed: broken}, {path: "b.pb.gz"}},
	} {
		if err := notWritten(outputs); want == "" {
			assert.NoError(t, err)
		} else {
			assert.EqualError(t, err, want)
		}
	}
}
