package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
)

// Probe is a kind of events: which programs see it and where they hang. OffCPU
// and its like make one for NewTracer.
type Probe struct {
	object *object
	hooks  []hook
	// calls are hooks of two sorts, of which the kernel gets what it admits; nil
	// for kinds that do not look at some calls.
	calls *callPrograms
	// slow tells that the kernel takes long to detach from the hooks.
	slow bool
	// clocked are programs that run on events which the kernel counts itself.
	clocked []clocked
	// events is how many observations to expect in a second: it sizes maps.
	events int
	// cut names the iterator that counts what is not over at a drain, if any.
	cut string
	// more reads what a kind counts in a way of its own.
	more func(t *Tracer, epoch uint32, dst []Sample) ([]Sample, error)
	// adapt adds settings that depend on the kernel's types.
	adapt func(spec *ebpf.CollectionSpec, kernel *btf.Spec) error
}

// hook is a tracepoint and the program for it.
type hook struct {
	program string
	event   string // as the kernel's type information has it, without btf_trace_
	// since is the first kernel that has it.
	since string
	// optional hooks make a kind better; it works without them.
	optional bool
	// function tells that event is a function of the kernel and no tracepoint.
	function bool
	// unless are tracepoints that make the hook superfluous.
	unless []string
}

// kernelHooks are the hooks of a kernel.
type kernelHooks struct {
	types   *btf.Spec
	without []string // events that count as missing
}

// has tells whether the kernel has what a program hangs on.
func (k *kernelHooks) has(event string, function bool) bool {
	if slices.Contains(k.without, event) {
		return false
	}
	if function {
		var f *btf.Func
		return k.types.TypeByName(event, &f) == nil
	}
	return tracepointType(k.types, event) != nil
}

// superfluous tells whether the kernel has something better.
func (k *kernelHooks) superfluous(h *hook) bool {
	return slices.ContainsFunc(h.unless, func(event string) bool { return k.has(event, false) })
}

// clocked is an event of the kernel, PERF_COUNT_SW_*, and the program that runs
// each time.
type clocked struct {
	program string
	config  uint64
}

// MissingError says that this kernel has not got what a kind of events needs.
// Test for it with errors.As.
type MissingError struct {
	// Feature is what is missing, Since the first kernel that has it, such as
	// "5.19", and Option what else it may depend on, "" for nothing.
	Feature, Since, Option string
}

// Error is one sentence.
func (e *MissingError) Error() string {
	msg := fmt.Sprintf("this kernel has no %s, which came with Linux %s", e.Feature, e.Since)
	if e.Option != "" {
		msg += " and needs " + e.Option
	}
	return msg
}

// Is makes it an errors.ErrUnsupported.
func (e *MissingError) Is(target error) bool { return target == errors.ErrUnsupported }

const btfPath = "/sys/kernel/btf/vmlinux"

// TypeInformation is what Options.Without calls the kernel's description of its
// types, without which there is nothing to hang programs on.
const TypeInformation = "type information"

// kernelTypes returns the kernel's own description of its types.
func kernelTypes(without []string) (*btf.Spec, error) {
	if _, err := os.Stat(btfPath); errors.Is(err, os.ErrNotExist) || slices.Contains(without, TypeInformation) {
		return nil, &MissingError{Feature: TypeInformation + " (" + btfPath + ")", Since: "5.4", Option: "CONFIG_DEBUG_INFO_BTF=y"}
	}
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's type information: %w", err)
	}
	return spec, nil
}

// tracepointType returns the prototype of a tracepoint, nil if there is none.
func tracepointType(kernel *btf.Spec, event string) *btf.FuncProto {
	var def *btf.Typedef
	if kernel.TypeByName("btf_trace_"+event, &def) != nil {
		return nil
	}
	if p, ok := def.Type.(*btf.Pointer); ok {
		proto, _ := p.Target.(*btf.FuncProto)
		return proto
	}
	return nil
}

// fit takes out the programs for optional hooks that the kernel has not got,
// and fails when another is missing. It is without some, see Options.Without.
func (p *Probe) fit(spec *ebpf.CollectionSpec, without []string) error {
	types, err := kernelTypes(without)
	if err != nil {
		return err
	}
	return p.fitTo(&kernelHooks{types, without}, spec)
}

func (p *Probe) fitTo(kernel *kernelHooks, spec *ebpf.CollectionSpec) error {
	for i := range p.hooks {
		h := &p.hooks[i]
		if !kernel.superfluous(h) && kernel.has(h.event, h.function) {
			continue
		}
		if !h.optional {
			return &MissingError{Feature: "tracepoint " + h.event, Since: h.since}
		}
		delete(spec.Programs, h.program)
	}
	if p.adapt != nil {
		return p.adapt(spec, kernel.types)
	}
	return nil
}
