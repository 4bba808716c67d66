//go:build linux

package cpu

import (
	"slices"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize/addr"
)

// IdleFunctions are the functions in which Linux waits for work: those of the
// section .cpuidle.text (__cpuidle in the kernel's source) and the ways to halt
// that hypervisors replace. What a kernel does not have does no harm.
var IdleFunctions = []string{
	"default_idle", "default_idle_call", "default_enter_idle", "arch_cpu_idle",
	"mwait_idle", "amd_e400_idle", "poll_idle", "cpuidle_poll_time",
	"cpu_idle_poll", "cpu_idle_poll.isra.0",
	"intel_idle", "intel_idle_irq", "intel_idle_ibrs", "intel_idle_xstate",
	"intel_idle_s2idle", "intel_idle_hlt",
	"acpi_safe_halt", "acpi_idle_do_entry", "acpi_idle_enter", "acpi_idle_enter_bm",
	"acpi_idle_enter_s2idle", "acpi_idle_lpi_enter", "acpi_processor_ffh_cstate_enter",
	"acpi_processor_ffh_lpi_enter", "io_idle",
	"pv_native_safe_halt", "native_safe_halt", "xen_safe_halt", "pvm_safe_halt",
	"pvm_safe_halt_hc", "tdx_safe_halt", "tdx_halt",
	"cpu_do_idle", "psci_enter_idle_state", "psci_enter_domain_idle_state", // arm64
}

// functionPadding is the largest gap between two functions that belong
// together: alignment and the room for call padding.
const functionPadding = 64

// MergeRanges sorts ranges of functions and joins those that follow each
// other, so that few remain to compare with.
func MergeRanges(ranges [][2]addr.Virtual) []bpf.Range {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b [2]addr.Virtual) int {
		switch {
		case a[0] < b[0]:
			return -1
		case a[0] > b[0]:
			return 1
		}
		return 0
	})
	var merged []bpf.Range
	for _, r := range sorted {
		last := len(merged) - 1
		if last >= 0 && uint64(r[0]) <= merged[last].End+functionPadding {
			merged[last].End = max(merged[last].End, uint64(r[1]))
			continue
		}
		merged = append(merged, bpf.Range{Start: uint64(r[0]), End: uint64(r[1])})
	}
	return merged
}
