package sysname

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearest(t *testing.T) {
	assert.Equal(t, []string{"openat", "openat2"}, Nearest("opnat", 2))
	assert.Contains(t, Nearest("fstatat", 5), "newfstatat")
	assert.Len(t, Nearest("", 3), 3)
}

func TestErrors(t *testing.T) {
	assert.Equal(t, "ENOENT", Error(2))
	assert.Equal(t, "errno_4000", Error(4000))
}
