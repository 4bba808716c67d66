package receiver

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
)

func TestLikelyTargets(t *testing.T) {
	const none = 1 << 30 // above all PIDs
	running := func(pid uint32, used time.Duration) bpf.Running {
		return bpf.Running{SpaceRequest: bpf.SpaceRequest{PID: pid}, CPUTime: used}
	}
	parent := uint32(os.Getppid())
	list := []bpf.Running{running(uint32(os.Getpid()), time.Hour), running(parent, time.Minute)}
	for i := range uint32(40) {
		list = append(list, running(none+i, time.Second))
	}
	list = append(list, running(none+40, time.Millisecond))
	for name, tt := range map[string]struct {
		targets TargetsConfig
		running []bpf.Running
		want    []uint32
	}{
		"those with most CPU time, without us": {TargetsConfig{}, list[:4], []uint32{parent, none, none + 1}},
		"those that have used some":            {TargetsConfig{}, list[40:], []uint32{none + 38, none + 39}},
		"those that were named":                {TargetsConfig{PIDs: []int{none + 40}}, list, []uint32{none + 40}},
		"nobody knows yet":                     {TargetsConfig{Executables: []string{"x"}}, list, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &Config{Targets: tt.targets}
			h := &hostSource{cfg: cfg, targets: newTargets(&cfg.Targets)}
			var got []uint32
			for _, r := range h.likely(tt.running) {
				got = append(got, r.PID)
			}
			assert.Equal(t, tt.want, got)
		})
	}
	cfg := &Config{}
	h := &hostSource{cfg: cfg, targets: newTargets(&cfg.Targets)}
	assert.Len(t, h.likely(list), mostPreloaded)
}
