//go:build unix

package loopback

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server can listen there, and once more after another has ended.
func TestServersGetTheAddress(t *testing.T) {
	t.Parallel()
	address := Address(t)
	assert.True(t, address.Addr().IsLoopback())
	for range 2 {
		l, err := net.Listen("tcp", address.String())
		require.NoError(t, err)
		c, err := net.Dial("tcp", address.String())
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
	}
}

// Whoever asks for any port gets another.
func TestAddressesAreHeld(t *testing.T) {
	t.Parallel()
	seen := map[netip.AddrPort]bool{}
	for range 500 {
		address := Address(t)
		require.False(t, seen[address], "%s", address)
		seen[address] = true
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.False(t, seen[l.Addr().(*net.TCPAddr).AddrPort()], "%s", l.Addr())
		require.NoError(t, l.Close())
	}
}
