package receiver

import (
	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/cpu"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/demangle"
)

// procRoot is where procfs is mounted.
const procRoot = "/proc"

// newSources is the list of profile kinds: one line for each that is
// configured.
func newSources(cfg *Config, symbols *symbolize.Symbolizer, t *targets) []source.Source {
	return []source.Source{
		cpu.New(bpf.Options{
			Frequency:     cfg.CPU.Frequency,
			DrainInterval: cfg.DrainInterval,
			PerThread:     cfg.PerThread,
			MapEntries:    cfg.MapEntries,
			IdleRanges:    cpu.MergeRanges(symbols.KernelRanges(cpu.IdleFunctions...)),
			FilterTargets: t.filter(),
			KeepUnknown:   t.judges(),
		}),
	}
}

func symbolizeOptions(cfg *Config) symbolize.Options {
	styles := map[string]demangle.Style{
		demangleSimple: demangle.Simple,
		demangleFull:   demangle.Full,
		demangleNone:   demangle.None,
	}
	return symbolize.Options{
		ProcRoot:      procRoot,
		Demangle:      styles[cfg.Symbols.Demangle],
		KernelSymbols: bpf.KernelSymbols,
	}
}
