package receiver

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/symbolize"
)

func TestStartOfGo(t *testing.T) {
	frame := func(kind symbolize.Kind, name string) *symbolize.Frame {
		return &symbolize.Frame{Kind: kind, Lines: []symbolize.Line{{Name: name}}}
	}
	work := frame(symbolize.KindGo, "main.work")
	assert.True(t, startsGo([]*symbolize.Frame{work, frame(symbolize.KindGo, "runtime.goexit")}))
	assert.True(t, startsGo([]*symbolize.Frame{work, frame(symbolize.KindGo, "runtime.mstart")}))
	assert.False(t, startsGo([]*symbolize.Frame{work}))
	assert.False(t, startsGo([]*symbolize.Frame{work, frame(symbolize.KindNative, "runtime.goexit")}))
	assert.False(t, startsGo([]*symbolize.Frame{work, {Kind: symbolize.KindGo}}))
	assert.False(t, startsGo(nil))
}
