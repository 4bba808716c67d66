package bpf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseCPUList(t *testing.T) {
	for list, want := range map[string][]int{
		"0":         {0},
		"0-3":       {0, 1, 2, 3},
		"0-1,4,6-7": {0, 1, 4, 6, 7},
	} {
		got, err := parseCPUList(list)
		require.NoError(t, err, list)
		require.Equal(t, want, got, list)
	}
	for _, list := range []string{"", "a", "1-", "-1", "3-1", "0-99999999", "0,,1", "0-1-2"} {
		_, err := parseCPUList(list)
		require.ErrorContains(t, err, "bad CPU list", list)
	}
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0-3,8,10-11")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := parseCPUList(list)
		require.True(t, err == nil || cpus == nil)
	})
}
