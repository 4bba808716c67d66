package receiver

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/process"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

// What seems to have called a frame and lies in no code is none, and the stack
// ends before it, behind whatever frames it has of the kernel.
func TestCallersInNoCode(t *testing.T) {
	s := symbolize.New(symbolize.Options{})
	defer s.Close()
	registry := process.New(s, process.Options{})
	image, ok := registry.Image(uint32(os.Getpid()), 0)
	require.True(t, ok)
	here := uint64(image.Mappings[0].Start) + 16
	require.Nil(t, image.Find(addr.Virtual(8192)))
	for _, tt := range []struct {
		user      []uint64
		end, want bpf.StackEnd
		frames    int
	}{
		{[]uint64{here, here + 32}, bpf.EndZero, bpf.EndZero, 2},
		{[]uint64{here, 8192}, bpf.EndZero, bpf.EndAddress, 1},
		{[]uint64{here, here + 32, 8192, here}, bpf.EndFrame, bpf.EndAddress, 2},
		{[]uint64{here, 8192}, bpf.EndNoTable, bpf.EndNoTable, 1},
	} {
		r := &resolver{registry: registry, symbolizer: s}
		for range 100 { // the kernel's
			r.list = append(r.list, window.Truncated)
		}
		end := r.user(&bpf.Sample{User: tt.user, End: tt.end}, process.Snapshot{Image: image})
		assert.Equal(t, tt.want, end)
		assert.Len(t, r.list, 100+tt.frames)
	}
}

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
