//go:build linux

// Package tcpretransmits is the profile kind that shows on which connections
// segments are sent again, and whose connections these are.
package tcpretransmits

import (
	"fmt"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/metadata"
	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/source/event"
)

// Attribute keys, of the OpenTelemetry semantic conventions where they have one.
const (
	keyWhat          = "flametel.tcp.retransmit"
	keyState         = "network.connection.state"
	keyType          = "network.type"
	keyLocalAddress  = "network.local.address"
	keyLocalPort     = "network.local.port"
	keyRemoteAddress = "network.peer.address"
	keyRemotePort    = "network.peer.port"
)

// New returns a source that has not started.
func New(opts bpf.Options) source.Source {
	return event.New(event.Kind{
		Descriptor: source.Descriptor{
			Name:        "tcp_retransmits",
			SampleTypes: []source.ValueType{{Type: "retransmits", Unit: "count"}},
			Metrics: []source.Metric{
				{Metric: metadata.FlametelTCPRetransmits, Value: 0},
			},
		},
		Probe:    bpf.TCPRetransmits(),
		Values:   values,
		Describe: describe,
	}, opts)
}

func values(s *bpf.Sample, dst []int64) []int64 { return append(dst, int64(s.Sums[0])) }

var whats = map[uint64]string{
	bpf.RetransmitSYN:       "syn",
	bpf.RetransmitSYNACK:    "syn_ack",
	bpf.RetransmitData:      "data",
	bpf.RetransmitLossProbe: "loss_probe",
}

// states are the names that the conventions give to the numbers of
// include/net/tcp_states.h.
var states = [...]string{
	"", "established", "syn_sent", "syn_received", "fin_wait_1", "fin_wait_2", "time_wait",
	"closed", "close_wait", "last_ack", "listen", "closing", "syn_received",
}

func describe(s *bpf.Sample) event.Description {
	what := whats[s.Detail&bpf.RetransmitMask]
	d := event.Description{Labels: []source.Label{{Key: keyWhat, Text: what}}}
	if state := s.Detail >> bpf.RetransmitState & bpf.RetransmitMask; state > 0 && int(state) < len(states) {
		d.Labels = append(d.Labels, source.Label{Key: keyState, Text: states[state]})
	}
	if c, ok := bpf.ConnectionOf(s.Record); ok {
		network := "ipv4"
		if c.Remote.Addr().Is6() {
			network = "ipv6"
		}
		d.Labels = append(d.Labels,
			source.Label{Key: keyType, Text: network},
			source.Label{Key: keyLocalAddress, Text: c.Local.Addr().String()},
			source.Label{Key: keyLocalPort, Number: int64(c.Local.Port()), IsNumber: true},
			source.Label{Key: keyRemoteAddress, Text: c.Remote.Addr().String()},
			source.Label{Key: keyRemotePort, Number: int64(c.Remote.Port()), IsNumber: true},
		)
		d.Leaf = append(d.Leaf, event.Frame(fmt.Sprintf("%v -> %v", c.Local, c.Remote)))
	}
	d.Leaf = append(d.Leaf, event.Frame("retransmit:"+what))
	if s.Detail&bpf.RetransmitNoOwner != 0 {
		d.Leaf = append(d.Leaf, noOwner)
	}
	return d
}

// noOwner says that the process is not that of the socket.
var noOwner = event.Frame("socket of an unknown process")
