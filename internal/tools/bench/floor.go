//go:build linux

package main

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// attachFloor attaches programs that do nothing to the begin and the end of
// system calls, or nothing but read the clock: what looks at each call and times
// it cannot cost less.
func attachFloor(clock bool) (detach func() error, err error) {
	var attached []interface{ Close() error }
	detach = func() error {
		var failed error
		for _, c := range attached {
			failed = errors.Join(failed, c.Close())
		}
		return failed
	}
	var code asm.Instructions
	if clock {
		code = append(code, asm.FnKtimeGetNs.Call())
	}
	code = append(code, asm.Mov.Imm(asm.R0, 0), asm.Return())
	for _, event := range []string{"sys_enter", "sys_exit"} {
		program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: "floor_" + event, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: event,
			Instructions: code, License: "GPL",
		})
		if err != nil {
			return nil, errors.Join(err, detach())
		}
		attached = append(attached, program)
		l, err := link.AttachTracing(link.TracingOptions{Program: program})
		if err != nil {
			return nil, errors.Join(err, detach())
		}
		attached = append(attached, l)
	}
	return detach, nil
}
