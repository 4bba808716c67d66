package receiver

import (
	"go.uber.org/zap"

	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/symbolize"
)

// maxAdvised bounds the executables that are remembered as advised on. A host
// that has more of runtimes without names hears no more of it.
const maxAdvised = 256

// adviser says once for each executable how its generated code gets names.
type adviser struct {
	log  *zap.Logger
	said map[string]bool
}

// look sees to the frames of a sample.
func (a *adviser) look(p process.Snapshot, frames []*symbolize.Frame) {
	exe := p.Identity.ExecutablePath
	if exe == "" || a.said[exe] || len(a.said) >= maxAdvised {
		return
	}
	for _, f := range frames {
		if f.Reason != symbolize.ReasonNoMap {
			continue
		}
		advice := symbolize.Advice(p.Image)
		if advice == "" {
			return
		}
		a.said[exe] = true
		a.log.Warn("Code that this runtime generates has no names. Start it with what is advised here.",
			zap.String("executable", exe), zap.String("advice", advice))
		return
	}
}
