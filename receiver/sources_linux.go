package receiver

import (
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/allocations"
	"github.com/flametel/flametel/receiver/internal/source/cpu"
	"github.com/flametel/flametel/receiver/internal/source/fileopens"
	"github.com/flametel/flametel/receiver/internal/source/filereads"
	"github.com/flametel/flametel/receiver/internal/source/lockcontention"
	"github.com/flametel/flametel/receiver/internal/source/offcpu"
	"github.com/flametel/flametel/receiver/internal/source/pagefaults"
	"github.com/flametel/flametel/receiver/internal/source/syscalls"
	"github.com/flametel/flametel/receiver/internal/source/tcpretransmits"
	"github.com/flametel/flametel/receiver/internal/sysname"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
	"github.com/flametel/flametel/symbolize/demangle"
)

// procRoot is where procfs is mounted.
const procRoot = "/proc"

// newSources is the list of profile kinds: one line for each that is
// configured.
func newSources(h *hostSource) []source.Source {
	cfg := h.cfg
	shared := bpf.Options{
		DrainInterval:   cfg.DrainInterval,
		PerThread:       cfg.PerThread,
		MapEntries:      cfg.MapEntries,
		FilterTargets:   h.targets.filter(),
		KeepUnknown:     h.targets.judges(),
		Tables:          h.unwinding.tables,
		OnTablesRefused: h.unwinding.refused,
	}
	optsOf := func(kind string, durations ...*metadata.Metric) bpf.Options {
		opts := shared
		opts.ByDuration = h.meter != nil && slices.ContainsFunc(durations, cfg.Metrics.Each.Has)
		opts.Without = cfg.without[kind]
		opts.OnCallHooks = func(refused error) { h.sayCallHooks(kind, refused) }
		return opts
	}
	var list []source.Source
	if cfg.CPU.Enabled {
		sampling := shared
		sampling.Frequency = cfg.CPU.Frequency
		// The kernel's symbols are read while it verifies the program.
		sampling.IdleRanges = func() []bpf.Range { return cpu.MergeRanges(h.symbolizer.KernelRanges(cpu.IdleFunctions...)) }
		list = append(list, cpu.New(sampling))
	}
	if c := cfg.OffCPU.Get(); c != nil {
		list = append(list, offcpu.New(bpf.OffCPUOptions{MinDuration: c.MinDuration, LookInterval: c.StackInterval}, optsOf("off_cpu", metadata.FlametelOffCPUDuration)))
	}
	if c := cfg.Syscalls.Get(); c != nil {
		list = append(list, syscalls.New(c.options(), c.Share, optsOf("syscalls", metadata.FlametelSyscallDuration)))
	}
	if c := cfg.FileOpens.Get(); c != nil {
		list = append(list, fileopens.New(bpf.FileOpenOptions{FailedOnly: c.FailedOnly, LookInterval: c.StackInterval}, optsOf("file_opens", metadata.FlametelFileOpenDuration)))
	}
	if c := cfg.FileReads.Get(); c != nil {
		list = append(list, filereads.New(bpf.FileReadOptions{MinDuration: c.MinDuration, LookInterval: c.StackInterval}, optsOf("file_reads", metadata.FlametelFileReadDuration)))
	}
	if c := cfg.PageFaults.Get(); c != nil {
		list = append(list, pagefaults.New(bpf.PageFaultOptions{LookInterval: c.StackInterval}, optsOf("page_faults")))
	}
	if c := cfg.LockContention.Get(); c != nil {
		list = append(list, lockcontention.New(bpf.LockOptions{MinDuration: c.MinDuration, LookInterval: c.StackInterval}, optsOf("lock_contention")))
	}
	if c := cfg.KernelAllocations.Get(); c != nil {
		list = append(list, allocations.New(bpf.AllocationOptions{
			MinBytes: uint64(c.MinSize), LookInterval: c.StackInterval,
			Inner: cpu.MergeRanges(h.symbolizer.KernelRanges(bpf.InnerAllocators...)),
		}, optsOf("kernel_allocations")))
	}
	if c := cfg.TCPRetransmits.Get(); c != nil {
		list = append(list, tcpretransmits.New(optsOf("tcp_retransmits")))
	}
	return list
}

// sayCallHooks says where a kind sees the calls that it looks at.
func (h *hostSource) sayCallHooks(kind string, refused error) {
	if refused == nil {
		h.log.Info("Calls are seen at the functions of the kernel that carry them out; other calls cost what they did.",
			zap.String("kind", kind))
		return
	}
	h.log.Info("Calls are seen at tracepoints, which make each call of the host a little slower.",
		zap.String("kind", kind), zap.NamedError("reason", refused))
}

// options translates names to numbers. A 32-bit program's call is meant too, as
// a rule by the same name.
func (c *SyscallsConfig) options() bpf.SyscallOptions {
	o := bpf.SyscallOptions{LookInterval: c.StackInterval}
	for _, name := range c.Names {
		if nr, ok := sysname.Number(name); ok {
			o.Numbers = append(o.Numbers, nr)
		}
		if nr, ok := sysname.CompatNumber(name); ok {
			o.Compat = append(o.Compat, nr)
		}
	}
	return o
}

// newSymbolizer returns what names addresses, and the client of debuginfod
// servers that it uses, nil if there are none.
func newSymbolizer(cfg *SymbolsConfig) (*symbolize.Symbolizer, *debuginfod.Client, error) {
	styles := map[string]demangle.Style{
		demangleSimple: demangle.Simple,
		demangleFull:   demangle.Full,
		demangleNone:   demangle.None,
	}
	opts := symbolize.Options{
		ProcRoot:      procRoot,
		Demangle:      styles[cfg.Demangle],
		NoInlines:     !cfg.Inlines,
		DebugDirs:     append([]string{}, cfg.DebugDirs...), // none, if there are none
		MaxCacheBytes: int64(cfg.MaxCacheMiB) << 20,
		Patience:      cfg.Patience,
		KernelSymbols: bpf.KernelSymbols,
	}
	if len(cfg.DebuginfodURLs) == 0 {
		return symbolize.New(opts), nil, nil
	}
	client, err := debuginfod.New(debuginfod.Options{URLs: cfg.DebuginfodURLs, CacheDir: cfg.DebuginfodCache})
	if err != nil {
		return nil, nil, fmt.Errorf("symbols::debuginfod_cache: %w", err)
	}
	opts.Fetcher = client
	return symbolize.New(opts), client, nil
}
