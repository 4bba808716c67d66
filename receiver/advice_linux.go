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
	// open are executables of whose code a frame had no name when it was
	// sampled. Until the window ends it may get one.
	open map[string]openAdvice
}

type openAdvice struct {
	frame *symbolize.Frame
	text  string
}

func newAdviser(log *zap.Logger) adviser {
	return adviser{log: log, said: make(map[string]bool), open: make(map[string]openAdvice)}
}

// look sees to the frames of a sample.
func (a *adviser) look(p process.Snapshot, frames []*symbolize.Frame) {
	exe := p.Identity.ExecutablePath
	if exe == "" || a.said[exe] || len(a.said)+len(a.open) >= maxAdvised {
		return
	}
	if _, ok := a.open[exe]; ok {
		return
	}
	for _, f := range frames {
		if f.Reason != symbolize.ReasonNoMap {
			continue
		}
		if text := symbolize.Advice(p.Image); text != "" {
			a.open[exe] = openAdvice{f, text}
		}
		return
	}
}

// settle gives the advice at the end of a window if it is still needed: not to
// those whose frames have got names.
func (a *adviser) settle(names map[*symbolize.Frame]*symbolize.Frame) {
	for exe, advice := range a.open {
		if names[advice.frame] != nil {
			continue
		}
		a.said[exe] = true
		a.log.Warn("Generated code has no names.",
			zap.String("executable", exe), zap.String("advice", advice.text))
	}
	clear(a.open)
}
