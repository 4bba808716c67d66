package pdatabuild

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/flametel/flametel/receiver/internal/window"
)

// FillResource writes the attributes of a process, or, if that is nil, of the
// host alone, as profiles have them.
func FillResource(attrs pcommon.Map, p *window.Process, host string) {
	if p == nil {
		fillHost(attrs, host)
		return
	}
	fillResource(attrs, p, host)
}

// Sanitize makes a string that others chose fit for pdata, see sanitize.
func Sanitize(s string) string { return sanitize(s) }

// KeyExecutableName is the attribute with the name of a process.
const KeyExecutableName = keyExecutableName
