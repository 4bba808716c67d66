//go:build integration && linux

package receiver

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/flametel/flametel/bpf"
)

// missing is what a kernel may lack for each kind.
var missing = []struct {
	kind, sampleType string
	enable           func(*Config)
	hook, says       string
}{
	{
		"off_cpu", "off_cpu", func(c *Config) { c.OffCPU.GetOrInsertDefault() },
		"sched_switch", "tracepoint sched_switch, which came with Linux 5.5",
	},
	{
		"syscalls", "syscalls", func(c *Config) { c.Syscalls.GetOrInsertDefault() },
		"sys_enter", "tracepoint sys_enter, which came with Linux 5.5",
	},
	{
		"file_opens", "opens", func(c *Config) { c.FileOpens.GetOrInsertDefault() },
		"sched_process_exit", "tracepoint sched_process_exit, which came with Linux 5.5",
	},
	{
		"file_reads", "reads", func(c *Config) { c.FileReads.GetOrInsertDefault() },
		"sched_process_exit", "tracepoint sched_process_exit, which came with Linux 5.5",
	},
	{
		"page_faults", "faults", func(c *Config) { c.PageFaults.GetOrInsertDefault() },
		bpf.TypeInformation, "type information (/sys/kernel/btf/vmlinux), which came with Linux 5.4 and needs CONFIG_DEBUG_INFO_BTF=y",
	},
	{
		"lock_contention", "waits", func(c *Config) { c.LockContention.GetOrInsertDefault() },
		"sched_switch", "tracepoint sched_switch, which came with Linux 5.5",
	},
	{
		"kernel_allocations", "allocations", func(c *Config) { c.KernelAllocations.GetOrInsertDefault() },
		"mm_page_alloc", "tracepoint mm_page_alloc, which came with Linux 5.5",
	},
	{
		"tcp_retransmits", "retransmits", func(c *Config) { c.TCPRetransmits.GetOrInsertDefault() },
		"tcp_retransmit_skb", "tracepoint tcp_retransmit_skb, which came with Linux 5.5",
	},
}

// accounted returns the sample types that messages account for.
func (w *wire) accounted() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	types := make(map[string]bool)
	for _, m := range w.messages {
		for _, p := range m.ResourceProfiles[0].ScopeProfiles[0].Profiles {
			types[m.Dictionary.StringTable[p.SampleType.TypeStrindex]] = true
		}
	}
	return types
}

// starting makes a receiver of a configuration, and returns what it warns of.
func starting(t *testing.T, change func(*Config)) (xreceiver.Profiles, *wire, *observer.ObservedLogs) {
	t.Helper()
	f := NewFactory().(xreceiver.Factory)
	cfg := f.CreateDefaultConfig().(*Config)
	cfg.Window, cfg.DrainInterval = 200*time.Millisecond, 100*time.Millisecond
	change(cfg)
	require.NoError(t, cfg.Validate())
	core, logs := observer.New(zapcore.InfoLevel)
	set := nop
	set.Logger = zap.New(core)
	w := &wire{}
	r, err := f.CreateProfiles(context.Background(), set, cfg, w)
	require.NoError(t, err)
	return r, w, logs
}

// A kernel that lacks what a kind needs: it says what and since when, or does
// without the kind and says so once.
func TestKindsThatTheKernelCannotDo(t *testing.T) {
	for i, m := range missing {
		other := missing[(i+1)%len(missing)]
		says := m.kind + ": this kernel has no " + m.says
		change := func(c *Config) {
			m.enable(c)
			other.enable(c)
			c.without = map[string][]string{m.kind: {m.hook}}
		}
		t.Run(m.kind+"/fail", func(t *testing.T) {
			r, _, _ := starting(t, change)
			err := r.Start(context.Background(), componenttest.NewNopHost())
			require.EqualError(t, err, says)
			require.NoError(t, r.Shutdown(context.Background()))
		})
		t.Run(m.kind+"/skip", func(t *testing.T) {
			r, w, logs := starting(t, func(c *Config) { change(c); c.OnMissing = onMissingSkip })
			require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
			assert.Eventually(t, func() bool { return len(w.accounted()) > 1 }, patience, 50*time.Millisecond)
			require.NoError(t, r.Shutdown(context.Background()))
			assert.Equal(t, map[string]bool{"samples": true, other.sampleType: true}, w.accounted())
			var warnings []string
			for _, entry := range logs.All() {
				if err, ok := entry.ContextMap()["error"].(string); ok && strings.Contains(entry.Message, "left out") {
					warnings = append(warnings, err)
				}
			}
			assert.Equal(t, []string{says}, warnings)
		})
	}
}

// A kind that cannot hang on a function hangs on tracepoints, and the log says why.
func TestWhereCallsAreSeen(t *testing.T) {
	function := map[string]string{"amd64": "__x64_sys_preadv2", "arm64": "__arm64_sys_preadv2"}[runtime.GOARCH]
	r, _, logs := starting(t, func(c *Config) {
		c.CPU.Enabled = false
		c.FileReads.GetOrInsertDefault()
		c.without = map[string][]string{"file_reads": {function}}
	})
	require.NoError(t, r.Start(context.Background(), componenttest.NewNopHost()))
	require.NoError(t, r.Shutdown(context.Background()))
	said := logs.FilterMessageSnippet("seen at tracepoints").All()
	require.Len(t, said, 1)
	require.Equal(t, "file_reads", said[0].ContextMap()["kind"])
	require.Contains(t, said[0].ContextMap()["reason"], function)
	require.Empty(t, logs.FilterMessageSnippet("seen at the functions").All())
}

// There has to be something to do.
func TestNoKindThatTheKernelCanDo(t *testing.T) {
	r, _, logs := starting(t, func(c *Config) {
		c.CPU.Enabled, c.OnMissing = false, onMissingSkip
		c.OffCPU.GetOrInsertDefault()
		c.without = map[string][]string{"off_cpu": {"sched_switch"}}
	})
	err := r.Start(context.Background(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "this kernel can do none of the kinds of profiles that are on: off_cpu: this kernel has no tracepoint sched_switch")
	require.NoError(t, r.Shutdown(context.Background()))
	require.Len(t, logs.FilterMessageSnippet("left out").All(), 1)
}
