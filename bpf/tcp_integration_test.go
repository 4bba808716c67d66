//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counts are the kernel's own of segments sent again: all, those that open a connection, probes.
type counts struct{ segments, syns, probes uint64 }

func counters(t *testing.T) (c counts) {
	t.Helper()
	for _, file := range []string{"/proc/net/snmp", "/proc/net/netstat"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		lines := strings.Split(string(text), "\n")
		for i := 0; i+1 < len(lines); i += 2 {
			names, values := strings.Fields(lines[i]), strings.Fields(lines[i+1])
			for j, name := range names {
				switch name {
				case "RetransSegs":
					fmt.Sscan(values[j], &c.segments)
				case "TCPSynRetrans":
					fmt.Sscan(values[j], &c.syns)
				case "TCPLossProbes":
					fmt.Sscan(values[j], &c.probes)
				}
			}
		}
	}
	return c
}

// What the kernel counts is counted here, with the ends of the connection, for
// the process that uses the socket.
func TestTCPRetransmits(t *testing.T) {
	for name, c := range map[string]struct {
		mode, host string
		without    []string
	}{
		"IPv4":                              {mode: "4", host: "127.0.0.1"},
		"IPv6":                              {mode: "6", host: "::1"},
		"IPv4 in IPv6":                      {mode: "46", host: "127.0.0.1"},
		"as on kernels from 6.3 up to 6.15": {mode: "6", host: "::1", without: []string{"tcp_sendmsg_locked"}},
	} {
		t.Run(name, func(t *testing.T) {
			host := c.host
			f := startFixture(t, "retransmits", c.mode)
			// Connections of others on the host retransmit too, at any moment.
			before := counters(t)
			tr, err := NewTracer(TCPRetransmits(), Options{DrainInterval: time.Second, Without: c.without})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tr.Close()) })
			began := counters(t)
			port := f.do(t)
			done := counters(t)
			samples, stats, err := tr.Drain()
			require.NoError(t, err)
			after := counters(t)
			require.Zero(t, stats.Lost(), "%+v", stats)
			var all uint64
			kinds := make(map[uint64]uint64)
			for _, s := range samples {
				all += s.Sums[0]
				kinds[s.Detail&RetransmitMask] += s.Sums[0]
				if int(s.PID) != f.pid() {
					continue // of another test
				}
				require.Zero(t, s.Detail&RetransmitNoOwner)
				require.NotEmpty(t, s.User)
				c, ok := ConnectionOf(s.Record)
				require.True(t, ok)
				require.Equal(t, host, c.Local.Addr().String())
				require.Equal(t, host, c.Remote.Addr().String())
				require.True(t, uint64(c.Local.Port()) == port || uint64(c.Remote.Port()) == port, "%v", c)
			}
			require.GreaterOrEqual(t, all, done.segments-began.segments, "RetransSegs of the kernel")
			require.LessOrEqual(t, all, after.segments-before.segments, "RetransSegs of the kernel")
			begins := kinds[RetransmitSYN] + kinds[RetransmitSYNACK]
			require.GreaterOrEqual(t, begins, done.syns-began.syns, "TCPSynRetrans of the kernel")
			require.LessOrEqual(t, begins, after.syns-before.syns, "TCPSynRetrans of the kernel")
			require.GreaterOrEqual(t, kinds[RetransmitSYN], uint64(1))
			require.GreaterOrEqual(t, kinds[RetransmitSYNACK], uint64(1))
			require.GreaterOrEqual(t, kinds[RetransmitData], uint64(2))
			// A second probe follows when the answer to the first is late.
			require.GreaterOrEqual(t, kinds[RetransmitLossProbe], uint64(1))
			require.LessOrEqual(t, kinds[RetransmitLossProbe], after.probes-before.probes, "TCPLossProbes of the kernel")
		})
	}
}
