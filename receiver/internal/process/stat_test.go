package process

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const statTail = " R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 5 0 123456 1000 200 18446744073709551615 1 1 0\n"

func TestParseStat(t *testing.T) {
	for _, name := range []string{"sh", "a b", ") R 1 (", "", "\xff\n;"} {
		s, err := parseStat([]byte("42 (" + name + ")" + statTail))
		require.NoError(t, err)
		require.Equal(t, stat{comm: name, parent: 1, threads: 5, ticks: 123456}, *s)
		require.EqualValues(t, 1234560000000, s.startLow())
		require.True(t, s.startedAt(1234560000000) && s.startedAt(1234569999999))
		require.False(t, s.startedAt(1234559999999) || s.startedAt(1234570000000))
	}
	s, err := parseStat([]byte("2 (kthreadd) Z 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 3 0 0"))
	require.NoError(t, err)
	require.True(t, s.kernel && s.zombie)
}

func TestParseStatRefusesGarbage(t *testing.T) {
	for _, text := range []string{"", "42", "42 (x", "42 )x(", "42 (x) R 1 2", "42 (x) R 1 2 3 0 -1 flags 1 0 0 0 7 8 0 0 20 0 5 0 123456",
		"42 (x) R 1 2 3 0 -1 4194304 1 0 0 0 7 8 0 0 20 0 5 0 18446744073709551615"} {
		_, err := parseStat([]byte(text))
		require.Error(t, err, text)
	}
}

func TestReadStatOfThisProcess(t *testing.T) {
	s, err := readStat("/proc", uint32(os.Getpid()))
	require.NoError(t, err)
	require.False(t, s.kernel || s.zombie)
	require.Less(t, s.startLow(), now(unix.CLOCK_BOOTTIME))
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (sh)" + statTail))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseStat(text)
		require.True(t, (s == nil) != (err == nil))
	})
}
