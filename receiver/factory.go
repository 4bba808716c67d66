package receiver

import (
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/xreceiver"

	"github.com/flametel/flametel/receiver/internal/metadata"
)

// NewFactory returns the factory of the receiver ebpf_profiler. It is an
// xreceiver.Factory that makes receivers of profiles and of metrics, one for both
// if they have the same configuration.
func NewFactory() receiver.Factory {
	s := newSharing()
	return xreceiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		xreceiver.WithProfiles(s.createProfiles, metadata.ProfilesStability),
		xreceiver.WithMetrics(s.createMetrics, metadata.MetricsStability),
	)
}

func createDefaultConfig() component.Config {
	return &Config{
		Window:        10 * time.Second,
		DrainInterval: time.Second,
		// 99 and not 100, so that sampling does not run in step with work that
		// happens every hundredth of a second.
		CPU:               CPUConfig{Enabled: true, Frequency: 99},
		OffCPU:            configoptional.Default(OffCPUConfig{StackInterval: time.Millisecond}),
		Syscalls:          configoptional.Default(SyscallsConfig{StackInterval: time.Millisecond, Share: 1}),
		FileOpens:         configoptional.Default(FileOpensConfig{StackInterval: time.Millisecond}),
		FileReads:         configoptional.Default(FileReadsConfig{StackInterval: time.Millisecond}),
		PageFaults:        configoptional.Default(PageFaultsConfig{StackInterval: time.Millisecond}),
		LockContention:    configoptional.Default(LockContentionConfig{StackInterval: time.Millisecond}),
		KernelAllocations: configoptional.Default(KernelAllocationsConfig{MinSize: 8192, StackInterval: time.Millisecond}),
		TCPRetransmits:    configoptional.Default(TCPRetransmitsConfig{}),
		Metrics:           MetricsConfig{MaxProcesses: 100, Each: metadata.DefaultMetricsConfig()},
		OnMissing:         onMissingFail,
		Unwind:            UnwindConfig{Tables: true, MaxTableMiB: 32},
		Symbols: SymbolsConfig{
			Demangle:        demangleSimple,
			Inlines:         true,
			DebugDirs:       []string{"/usr/lib/debug"},
			DebuginfodCache: "/var/cache/flametel/debuginfod",
			MaxCacheMiB:     128,
			Patience:        2 * time.Second,
		},
	}
}
