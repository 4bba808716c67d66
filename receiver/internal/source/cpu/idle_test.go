//go:build linux

package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/symbolize/addr"
)

func TestMergeRanges(t *testing.T) {
	got := MergeRanges([][2]addr.Virtual{{0x5000, 0x5010}, {0x1000, 0x1020}, {0x1030, 0x1080}, {0x1010, 0x1018}, {0x2000, 0x2001}})
	require.Equal(t, []bpf.Range{{Start: 0x1000, End: 0x1080}, {Start: 0x2000, End: 0x2001}, {Start: 0x5000, End: 0x5010}}, got)
	require.Empty(t, MergeRanges(nil))
}
