//go:build integration

package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/internal/loopback"
	"github.com/flametel/flametel/internal/workloads"
)

// agent is a collector that profiles one process, writes what it saw to
// sent.folded and forwards it with an exporter (YAML in braces).
func agent(pid int, exporter, settings string) string {
	return fmt.Sprintf(`
receivers: {ebpf_profiler: {window: 1s, drain_interval: 200ms, targets: {pids: [%d]}}}
exporters:
  flamegraph: {path: sent.folded, interval: 0}
  %s: %s
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [ebpf_profiler], exporters: [flamegraph, %s]}}
`, pid, exporter, settings, exporter)
}

// gateway is a collector that samples nothing and writes what it is sent to
// received.folded.
func gateway(grpc, http string) string {
	return fmt.Sprintf(`
receivers: {otlp: {protocols: {grpc: {endpoint: "%s"}, http: {endpoint: "%s"}}}}
exporters: {flamegraph: {path: received.folded, interval: 0}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [flamegraph]}}
`, grpc, http)
}

// Two collectors forward over OTLP, one by each protocol, to a third: it has
// the same stacks with the same counts as the two.
func TestGatewayReceivesWhatAgentsSend(t *testing.T) {
	t.Parallel()
	const viaGRPC, viaHTTP = "burn-by-grpc", "burn-by-http"
	grpc, http := loopback.Address(t).String(), loopback.Address(t).String()
	far := start(t, gateway(grpc, http))

	near := map[string]*collector{}
	for name, exporter := range map[string][2]string{
		viaGRPC: {"otlp_grpc", fmt.Sprintf(`{endpoint: "%s", tls: {insecure: true}}`, grpc)},
		viaHTTP: {"otlp_http", fmt.Sprintf(`{endpoint: "http://%s"}`, http)},
	} {
		pid := workloads.Start(t, workloads.Burn.Build(t, name), "600")
		near[name] = start(t, agent(pid, exporter[0], exporter[1]))
	}
	for name := range near {
		eventually(t, "stacks of "+name+" at the gateway", func() bool {
			text, err := os.ReadFile(far.path("received.folded"))
			return err == nil && parseFolded(t, string(text)).of(name).total() > 100
		})
	}

	// Senders first: each delivers its last window before it ends.
	for _, c := range near {
		c.interrupt()
	}
	far.interrupt()

	received := readFolded(t, far.path("received.folded"))
	var total int64
	for name, c := range near {
		sent := readFolded(t, c.path("sent.folded"))
		require.NotZero(t, sent.total())
		assert.Equal(t, sent, sent.of(name), "the agent profiles one process only")
		assert.Equal(t, sent, received.of(name))
		total += sent.total()
	}
	assert.Equal(t, total, received.total())
}
