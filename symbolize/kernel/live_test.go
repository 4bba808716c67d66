package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func lookup(l *Live, a addr.Virtual) string {
	name, _ := l.Lookup(a)
	return name
}

func TestLiveSymbolsComeAndGo(t *testing.T) {
	var l Live
	l.Add(0x1000, 0x100, "bpf_prog_a")
	l.Add(0x3000, 0x100, "bpf_prog_b")
	require.Equal(t, "bpf_prog_a", lookup(&l, 0x1000))
	require.Equal(t, "bpf_prog_a", lookup(&l, 0x10ff))
	require.Equal(t, "", lookup(&l, 0x1100))
	require.Equal(t, "", lookup(&l, 0xfff))
	l.Remove(0x1000, 0x100, "bpf_prog_a")
	require.Equal(t, "bpf_prog_a", lookup(&l, 0x1050), "samples are named after it was unloaded")
	l.Add(0x1080, 0x40, "bpf_prog_c")
	require.Equal(t, "bpf_prog_c", lookup(&l, 0x1080))
	require.Equal(t, "", lookup(&l, 0x1050), "other code took its place")
	require.Equal(t, "bpf_prog_b", lookup(&l, 0x3001))
	l.Remove(0x5000, 0x80, "never_seen")
	require.Equal(t, "never_seen", lookup(&l, 0x5010))
	l.Add(0x6000, 0, "empty")
	l.Add(^addr.Virtual(0), 0x100, "wraps around")
	require.Equal(t, 3, l.Len())
}

func TestLiveIsBounded(t *testing.T) {
	var l Live
	for i := range addr.Virtual(maxLive + 1000) {
		l.Add(0x10000+i*16, 16, "x")
		if i%2 == 0 {
			l.Remove(0x10000+i*16, 16, "x")
		}
	}
	require.LessOrEqual(t, l.Len(), maxLive)
	for i := range addr.Virtual(maxLive + 10) {
		l.Add(0x10000000+i*16, 16, "y")
	}
	require.LessOrEqual(t, l.Len(), maxLive)
}

func FuzzLive(f *testing.F) {
	f.Add([]byte{1, 10, 0, 30, 5, 1, 5, 10, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		var l Live
		for i := 0; i+2 < len(ops); i += 3 {
			start, length := addr.Virtual(ops[i]), uint64(ops[i+1])
			if ops[i+2]%2 == 0 {
				l.Add(start, length, "x")
			} else {
				l.Remove(start, length, "x")
			}
			for j := range l.symbols {
				require.Less(t, l.symbols[j].start, l.symbols[j].limit)
				require.True(t, j == 0 || l.symbols[j-1].limit <= l.symbols[j].start)
			}
		}
	})
}
