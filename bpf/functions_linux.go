package bpf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// callPrograms are the programs of FT_CALL_PROGRAMS, and the functions of the
// kernel that carry out the calls they look at.
type callPrograms struct {
	enter, exit string // on tracepoints
	call, done  string // on functions
	returns     string // at the end of each, goes on with done
	ends        string // the map by which it finds that
	functions   []string
	// functions32 carry out those of 32-bit programs, as far as others do it. A
	// kernel that does not run such programs has none of them.
	functions32 []string
}

// onTracepoints sees the calls where all calls pass.
func (p *Probe) onTracepoints() *Probe {
	c, q := p.calls, *p
	q.hooks = append(slices.Clone(p.hooks),
		hook{program: c.exit, event: "sys_exit", since: "5.5"},
		hook{program: c.enter, event: "sys_enter", since: "5.5"})
	q.adapt = func(spec *ebpf.CollectionSpec, _ *btf.Spec) error {
		for _, name := range []string{c.call, c.returns, c.done} {
			delete(spec.Programs, name)
		}
		delete(spec.Maps, c.ends)
		return nil
	}
	return &q
}

// onFunctions sees the calls where the kernel carries them out: other calls do
// not take the slower path of those that are traced. It fails if this kernel has
// not got one of the functions, or lets no program hang on it.
func (p *Probe) onFunctions(without []string) (*Probe, error) {
	kernel, err := kernelTypes(without)
	if err != nil {
		return nil, err
	}
	has := func(f string) bool { return (&kernelHooks{kernel, without}).has(f, true) }
	c, q := p.calls, *p
	functions := slices.Clone(c.functions)
	if slices.ContainsFunc(c.functions32, has) {
		functions = append(functions, c.functions32...)
	}
	for _, f := range functions {
		if !has(f) {
			return nil, fmt.Errorf("the kernel has no function %s", f)
		}
	}
	if err := tryFunction(functions[0]); err != nil {
		return nil, fmt.Errorf("the kernel lets no program hang on %s: %w", functions[0], err)
	}
	if err := mayPreempt(); err != nil {
		return nil, err
	}
	q.hooks, q.slow = slices.Clone(p.hooks), true
	for _, part := range []string{c.returns, c.call} { // ends first, so that each begin has one
		for _, f := range functions {
			q.hooks = append(q.hooks, hook{program: part + "_" + f, event: f, function: true})
		}
	}
	q.adapt = func(spec *ebpf.CollectionSpec, _ *btf.Spec) error {
		for _, part := range []string{c.returns, c.call} {
			for _, f := range functions {
				program := spec.Programs[part].Copy()
				program.AttachTo = f
				spec.Programs[part+"_"+f] = program
			}
			delete(spec.Programs, part)
		}
		spec.Programs[c.done].AttachTo = functions[0]
		maps.DeleteFunc(spec.Programs, func(name string, _ *ebpf.ProgramSpec) bool {
			return name == c.enter || name == c.exit
		})
		return nil
	}
	return &q, nil
}

// tryFunction hangs a program that does nothing on a function of the kernel.
func tryFunction(name string) error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "try", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFExit, AttachTo: name, License: "Dual BSD/GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno // without the loader's guess at memory limits
	}
	if err != nil {
		return err
	}
	defer p.Close()
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err != nil {
		return err
	}
	return l.Close()
}

// preemptFile says how the kernel preempts itself, the present way in brackets.
const preemptFile = "/sys/kernel/debug/sched/preempt"

// mayPreempt returns an error if the kernel may, or may for all we know, put
// another task in the place of one that runs a program on a function. A program
// that runs twice on a CPU at a time is left out the second time; those on
// tracepoints are never preempted.
func mayPreempt() error {
	text, err := os.ReadFile(preemptFile)
	if err != nil {
		var name unix.Utsname
		if err := unix.Uname(&name); err != nil {
			return fmt.Errorf("tell whether the kernel preempts itself: %w", err)
		}
		text = []byte(unix.ByteSliceToString(name.Version[:]))
	}
	return preempts(string(text))
}

// preempts reads preemptFile or, without it, the version of the kernel, which
// names CONFIG_PREEMPT, PREEMPT_RT or PREEMPT_DYNAMIC.
func preempts(text string) error {
	calm := !strings.Contains(text, "PREEMPT") && !strings.Contains(text, "(")
	if calm || strings.Contains(text, "(none)") || strings.Contains(text, "(voluntary)") {
		return nil
	}
	return errors.New("the kernel may preempt itself, and programs on its functions would miss calls then")
}
