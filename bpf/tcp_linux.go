package bpf

import (
	"encoding/binary"
	"net/netip"
)

// What is sent again, in the lowest byte of Sample.Detail; above it is the state
// of the socket (tcp_retransmits.bpf.c).
const (
	RetransmitSYN       = 1
	RetransmitSYNACK    = 2
	RetransmitData      = 3
	RetransmitLossProbe = 4 // what was sent last, to learn whether it arrived
	RetransmitMask      = 0xff
	RetransmitState     = 8       // shift
	RetransmitNoOwner   = 1 << 32 // nobody used the socket while we looked: PID 0
)

// TCPRetransmits sees TCP send segments again. Samples are of the process that
// used the socket and of where it did, or of its listener's. Sample.Sums[0] are
// segments. ConnectionOf reads Sample.Record.
func TCPRetransmits() *Probe {
	return &Probe{
		object: &object{name: "tcp_retransmits", spec: loadTcpRetransmits},
		hooks: []hook{
			{program: tcpRetransmitsProgTcpState, event: "inet_sock_set_state", since: "5.5"},
			{program: tcpRetransmitsProgTcpSend, event: "tcp_sendmsg_locked", since: "6.16", optional: true},
			{
				program: tcpRetransmitsProgSockSend, event: "sock_send_length", since: "6.3", optional: true,
				unless: []string{"tcp_sendmsg_locked"},
			},
			{
				program: tcpRetransmitsProgTcpSendFunction, event: "tcp_sendmsg", since: "5.5", optional: true, function: true,
				unless: []string{"tcp_sendmsg_locked", "sock_send_length"},
			},
			{program: tcpRetransmitsProgTcpRetransmit, event: "tcp_retransmit_skb", since: "5.5"},
			{program: tcpRetransmitsProgTcpRetransmitAck, event: "tcp_retransmit_synack", since: "5.5"},
		},
		events: 4096,
	}
}

// Connection is the two ends of a TCP connection.
type Connection struct{ Local, Remote netip.AddrPort }

// ConnectionOf reads the record of a sample of TCPRetransmits. An IPv4 address
// in an IPv6 socket is an IPv4 address.
func ConnectionOf(record []uint64) (c Connection, ok bool) {
	if len(record) != 5 {
		return c, false
	}
	const inet, inet6 = 2, 10
	address := func(words []uint64) netip.Addr {
		var raw [16]byte
		binary.NativeEndian.PutUint64(raw[:], words[0])
		binary.NativeEndian.PutUint64(raw[8:], words[1])
		if record[0]>>32 == inet6 {
			return netip.AddrFrom16(raw).Unmap()
		}
		return netip.AddrFrom4([4]byte(raw[:4]))
	}
	if family := record[0] >> 32; family != inet && family != inet6 {
		return c, false
	}
	c.Local = netip.AddrPortFrom(address(record[1:3]), uint16(record[0]>>16))
	c.Remote = netip.AddrPortFrom(address(record[3:5]), uint16(record[0]))
	return c, true
}
