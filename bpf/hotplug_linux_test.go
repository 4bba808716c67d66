package bpf

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMessagesOfCPUs(t *testing.T) {
	for message, want := range map[string]bool{
		"online@/devices/system/cpu/cpu1\x00ACTION=online\x00DEVPATH=/devices/system/cpu/cpu1\x00": true,
		"offline@/devices/system/cpu/cpu12\x00":                                                    true,
		"add@/devices/virtual/block/loop0\x00DEVPATH=/devices/system/cpu/cpu1\x00":                 false,
		"/devices/system/cpu/cpu1":                                                                 false,
		"libudev\x00online@/devices/system/cpu/cpu1":                                               false,
		"": false,
	} {
		assert.Equal(t, want, isOfCPU([]byte(message)), "%q", message)
	}
}
