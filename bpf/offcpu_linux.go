package bpf

import (
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// OffCPUOptions set up OffCPU.
type OffCPUOptions struct {
	// MinDuration leaves shorter waits out.
	MinDuration time.Duration
	// LookInterval is about how often the stack of a thread is taken that
	// waits often; 0 means at each wait.
	LookInterval time.Duration
}

// Bits of Sample.Detail of off-CPU time (off_cpu.bpf.c). The lower half is the
// number of the system call the thread was in, if OffCPUInCall is set.
const (
	OffCPUPreempted       = 1 << 32 // it could have run and waited for a CPU
	OffCPUUninterruptible = 1 << 33
	OffCPUCompatCall      = 1 << 34 // a 32-bit system call
	OffCPUInCall          = 1 << 35
)

// minAlways: waits of this length are counted even where a stack is taken of
// some waits only.
const minAlways = 10 * time.Millisecond

// WaitVariance is what a sample of waits adds to the variance of the estimate
// that their time is, in square nanoseconds: waits that stand for others could
// as well have been others, see FT_MAX_ESTIMATE of waits.h. It is 0 if all are
// counted.
func WaitVariance(s *Sample) float64 {
	const unit = 1024
	return unit * unit * float64(s.Sums[2])
}

// OffCPU sees threads leave a CPU and come back. Sample.Sums are nanoseconds
// and waits, see WaitVariance for the third: a wait that is not over at a drain
// is counted as one in the first sample of it, and with its time up to then in
// each.
func OffCPU(o OffCPUOptions) *Probe {
	return &Probe{
		object: &object{name: "off_cpu", spec: loadOffCPU, variables: map[string]any{
			offCPUVarMinNs:    uint64(o.MinDuration),
			offCPUVarLookNs:   uint64(o.LookInterval),
			offCPUVarAlwaysNs: uint64(max(minAlways, 10*o.LookInterval)),
		}},
		hooks:  []hook{{program: offCPUProgOffCpuSwitch, event: "sched_switch", since: "5.5"}},
		events: 8192,
		cut:    offCPUProgCutWaits,
		adapt:  setPrevState,
	}
}

// setPrevState tells waits.h whether the tracepoint says in which state a task
// leaves the CPU.
func setPrevState(spec *ebpf.CollectionSpec, kernel *btf.Spec) error {
	proto := tracepointType(kernel, "sched_switch")
	// One more than the arguments: the first is the tracepoint's own.
	return spec.Variables[offCPUVarHavePrevState].Set(proto != nil && len(proto.Params) > 4)
}
