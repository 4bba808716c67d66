//go:build unix

// Package loopback gives tests ports for the servers that they start. It serves
// tests only.
package loopback

import (
	"net/netip"
	"os"
	"syscall"
	"testing"
)

// Address returns an address of this host for a server that a test starts. Until
// the test ends the kernel gives its port to nobody who asks for any: a socket
// that is bound and does not listen holds it. Servers get it all the same, as
// they allow addresses to be used again (SO_REUSEADDR).
func Address(tb testing.TB) netip.AddrPort {
	tb.Helper()
	s, err := bound()
	if err != nil {
		tb.Fatalf("no port of loopback: %v", err)
	}
	tb.Cleanup(func() { _ = syscall.Close(s) })
	name, err := syscall.Getsockname(s)
	if err != nil {
		tb.Fatal(os.NewSyscallError("getsockname", err))
	}
	in := name.(*syscall.SockaddrInet4)
	return netip.AddrPortFrom(netip.AddrFrom4(in.Addr), uint16(in.Port))
}

// bound returns a socket with a port of its own that no program inherits.
func bound() (int, error) {
	syscall.ForkLock.RLock()
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(s)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(s, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(s, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	}
	if err != nil {
		_ = syscall.Close(s)
		return 0, err
	}
	return s, nil
}
