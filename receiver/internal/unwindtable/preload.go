//go:build linux

package unwindtable

import (
	"errors"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/bpf/unwind"
)

// Preload gives processes that run already their tables, one after the other,
// before they are sampled for the first time: else the moments until the tables are
// loaded would be missing from every profile. What is large comes last. It ends
// when the pool of rows is nearly full, or when stop is closed, and may run beside
// Run.
func (m *Manager) Preload(stop <-chan struct{}, list []bpf.SpaceRequest) error {
	var errs []error
	report := func(err error) { errs = append(errs, err) }
	var c unwind.Compiler
	for _, r := range list {
		if m.pressure.Load() {
			break
		}
		if m.spaceOf(r.PID) != nil {
			continue // it was sampled meanwhile, and may be another program by now
		}
		if err := m.begin(r); err != nil {
			report(err)
		}
		if !m.compileAll(stop, &c, &m.small, report) {
			return errors.Join(errs...)
		}
	}
	m.compileAll(stop, &c, &m.large, report)
	return errors.Join(errs...)
}
