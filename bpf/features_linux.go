package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	ebpffeatures "github.com/cilium/ebpf/features"
)

// probeFeatures asks the kernel. A probe that could not tell is an error, not
// a no: an older way would be taken for reasons that nobody sees.
func probeFeatures() (features, error) {
	var f features
	for _, probe := range []struct {
		helper asm.BuiltinFunc
		has    *bool
	}{
		{asm.FnLoop, &f.loop},
		{asm.FnTaskPtRegs, &f.taskRegs},
	} {
		err := ebpffeatures.HaveProgramHelper(ebpf.PerfEvent, probe.helper)
		switch {
		case err == nil:
			*probe.has = true
		case errors.Is(err, ebpf.ErrNotSupported):
		default:
			return f, fmt.Errorf("probe helper %v: %w", probe.helper, err)
		}
	}
	return f, nil
}
