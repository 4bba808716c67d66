//go:build linux

package tcpretransmits

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
)

func TestDescribe(t *testing.T) {
	ports := uint64(443)<<16 | 50000
	loopback4 := uint64(0x0100007f)
	loopback6 := uint64(1) << 56
	mapped := loopback4<<32 | 0xffff0000
	tests := []struct {
		name   string
		sample bpf.Sample
		leaf   []string
		labels []source.Label
	}{
		{
			"IPv4", bpf.Sample{Detail: bpf.RetransmitData | 1<<bpf.RetransmitState, Record: []uint64{2<<32 | ports, loopback4, 0, loopback4, 0}},
			[]string{"127.0.0.1:443 -> 127.0.0.1:50000", "retransmit:data"},
			[]source.Label{
				{Key: "flametel.tcp.retransmit", Text: "data"}, {Key: "network.connection.state", Text: "established"}, {Key: "network.type", Text: "ipv4"},
				{Key: "network.local.address", Text: "127.0.0.1"}, {Key: "network.local.port", Number: 443, IsNumber: true},
				{Key: "network.peer.address", Text: "127.0.0.1"}, {Key: "network.peer.port", Number: 50000, IsNumber: true},
			},
		},
		{
			"IPv6", bpf.Sample{Detail: bpf.RetransmitSYN | 2<<bpf.RetransmitState, Record: []uint64{10<<32 | ports, 0, loopback6, 0, loopback6}},
			[]string{"[::1]:443 -> [::1]:50000", "retransmit:syn"},
			[]source.Label{
				{Key: "flametel.tcp.retransmit", Text: "syn"}, {Key: "network.connection.state", Text: "syn_sent"}, {Key: "network.type", Text: "ipv6"},
				{Key: "network.local.address", Text: "::1"}, {Key: "network.local.port", Number: 443, IsNumber: true},
				{Key: "network.peer.address", Text: "::1"}, {Key: "network.peer.port", Number: 50000, IsNumber: true},
			},
		},
		{
			"IPv4 in IPv6", bpf.Sample{Detail: bpf.RetransmitSYNACK, Record: []uint64{10<<32 | ports, 0, mapped, 0, mapped}},
			[]string{"127.0.0.1:443 -> 127.0.0.1:50000", "retransmit:syn_ack"},
			[]source.Label{
				{Key: "flametel.tcp.retransmit", Text: "syn_ack"}, {Key: "network.type", Text: "ipv4"},
				{Key: "network.local.address", Text: "127.0.0.1"}, {Key: "network.local.port", Number: 443, IsNumber: true},
				{Key: "network.peer.address", Text: "127.0.0.1"}, {Key: "network.peer.port", Number: 50000, IsNumber: true},
			},
		},
		{
			"nobody's, and no record", bpf.Sample{Detail: bpf.RetransmitLossProbe | bpf.RetransmitNoOwner | 99<<bpf.RetransmitState},
			[]string{"retransmit:loss_probe", "socket of an unknown process"},
			[]source.Label{{Key: "flametel.tcp.retransmit", Text: "loss_probe"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := describe(&tt.sample)
			var leaf []string
			for _, f := range d.Leaf {
				leaf = append(leaf, f.Lines[0].Name)
			}
			assert.Equal(t, tt.leaf, leaf)
			assert.Equal(t, tt.labels, d.Labels)
		})
	}
}
