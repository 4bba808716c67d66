//go:build integration && linux

package bpf

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kernel is asked to say something of a CPU: nothing of the host changes.
func TestHotplugHearsTheKernel(t *testing.T) {
	h, err := NewHotplug()
	require.NoError(t, err)
	heard, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- h.Run(func() {
			select {
			case heard <- struct{}{}:
			default:
			}
		})
	}()
	require.NoError(t, os.WriteFile("/sys/devices/system/cpu/cpu0/uevent", []byte("change"), 0))
	select {
	case <-heard:
	case <-time.After(10 * time.Second):
		t.Error("the kernel's message did not arrive")
	}
	h.Close()
	assert.NoError(t, <-ended)
}
