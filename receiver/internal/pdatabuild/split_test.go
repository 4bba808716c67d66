package pdatabuild

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
	"github.com/flametel/flametel/symbolize/addr"
)

// total adds up all values of all messages.
func total(messages []Message) (sum int64) {
	for _, m := range messages {
		for _, rp := range m.Profiles.ResourceProfiles().All() {
			for _, p := range rp.ScopeProfiles().At(0).Profiles().All() {
				for _, s := range p.Samples().All() {
					sum += s.Values().At(0)
				}
			}
		}
	}
	return sum
}

func kept(messages []Message, kind *source.Descriptor) (sum uint64) {
	for _, m := range messages {
		sum += m.Kept[kind]
	}
	return sum
}

// One process with 200,000 distinct stacks fills several messages, each nearly
// to the bound, and all with the identity of the process.
func TestBigProcessIsSplit(t *testing.T) {
	const stacks = 200_000
	w := newWindow()
	manyStacks(w, stacks, 5000, 20)
	messages := build(t, w, Settings{HostName: "host"})
	assert.Equal(t, int64(stacks), total(messages))
	assert.Equal(t, uint64(stacks), kept(messages, cpu))

	for i, m := range messages {
		resources := m.Profiles.ResourceProfiles()
		last := resources.At(resources.Len() - 1)
		pid, _ := last.Resource().Attributes().Get(keyPID)
		assert.Equal(t, int64(7), pid.Int())
		_, accounting := resources.At(0).Resource().Attributes().Get(keyAccounting)
		assert.Equal(t, i == 0, accounting, "accounting belongs to the first message only")
		size := len(encode(t, m, DefaultMaxBytes))
		if i < len(messages)-1 {
			assert.Greater(t, size, DefaultMaxBytes*9/10, "message %d could hold more", i)
		}
	}
}

// Random windows of all shapes and sizes stay below every bound.
func TestBoundHolds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, maxBytes := range []int{8 << 10, 20 << 10, 100 << 10} {
		t.Run(fmt.Sprint(maxBytes), func(t *testing.T) {
			for range 10 {
				w := newWindow()
				want := fillRandomly(w, rnd)
				messages := build(t, w, Settings{HostName: "host", Version: "v1", MaxBytes: maxBytes})
				for _, m := range messages {
					encode(t, m, maxBytes)
				}
				tally := w.Tally(cpu)
				assert.Equal(t, tally.Kept, uint64(total(messages)))
				assert.Equal(t, want, tally.Kept+tally.LostTotal())
			}
		})
	}
}

// fillRandomly returns how many samples it added.
func fillRandomly(w *window.Window, rnd *rand.Rand) (count uint64) {
	var frames []*symbolize.Frame
	for i := range 200 {
		m := &symbolize.Module{Path: strings.Repeat("m", 1+rnd.IntN(200)), GNUBuildID: fmt.Sprint(i % 7), Limit: 1 << 62}
		f := &symbolize.Frame{Kind: symbolize.Kind(rnd.IntN(8)), Module: m, Address: addr.File(rnd.Uint64N(1 << 62))}
		for range rnd.IntN(4) {
			name := strings.Repeat("\xffn", rnd.IntN(100))
			f.Lines = append(f.Lines, symbolize.Line{Name: name, SystemName: name + "s", File: "f" + name, Line: rnd.Int64N(1 << 40), StartLine: rnd.Int64()})
		}
		frames = append(frames, f)
	}
	for pid := range 20 {
		p := &window.Process{PID: 1 << rnd.IntN(22), Name: strings.Repeat("p", rnd.IntN(100)), ServiceName: fmt.Sprint(pid)}
		for range rnd.IntN(60) {
			stack := make([]*symbolize.Frame, rnd.IntN(60))
			for i := range stack {
				stack[i] = frames[rnd.IntN(len(frames))]
			}
			n := rnd.Uint64N(1 << 30)
			add(w, p, strings.Repeat("t", rnd.IntN(16)), n, stack...)
			count += n
		}
	}
	return count
}

// A stack that does not fit into an empty message is lost, with its cause, and
// nothing else is.
func TestOversizedStackIsCounted(t *testing.T) {
	w := newWindow()
	p := &window.Process{PID: 1}
	var huge []*symbolize.Frame
	for i := range 1024 {
		name := fmt.Sprintf("%04d", i) + strings.Repeat("x", maxStringBytes-4)
		huge = append(huge, frame(symbolize.KindNative, binary1, 0x401000+uint64(i), name))
	}
	add(w, p, "t", 5, huge...)
	add(w, p, "t", 3, frame(symbolize.KindNative, binary1, 0x401000, "main"))
	messages := build(t, w, Settings{})
	require.Len(t, messages, 1)
	assert.Equal(t, int64(3), total(messages))
	tally := w.Tally(cpu)
	assert.Equal(t, uint64(3), tally.Kept)
	assert.Equal(t, map[string]uint64{window.CauseOversized: 5}, tally.Lost)
	assert.Equal(t, uint64(3), tally.FramesNamed)
	encode(t, messages[0], DefaultMaxBytes)
}

// A deep recursion of one function with a long name is small, whatever the
// first estimate says.
func TestRecursionFits(t *testing.T) {
	w := newWindow()
	f := frame(symbolize.KindNative, binary1, 0x401000, strings.Repeat("r", maxStringBytes))
	stack := make([]*symbolize.Frame, 1024)
	for i := range stack {
		stack[i] = f
	}
	add(w, &window.Process{PID: 1}, "t", 2, stack...)
	messages := build(t, w, Settings{})
	assert.Equal(t, int64(2), total(messages))
	assert.Empty(t, w.Tally(cpu).Lost)
}

func BenchmarkBuild(b *testing.B) {
	for _, stacks := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("stacks=%d", stacks), func(b *testing.B) {
			w := newWindow()
			manyStacks(w, stacks, 5000, 30)
			w.Close(start.Add(10 * time.Second))
			builder := New(Settings{HostName: "host"})
			b.ReportAllocs()
			for b.Loop() {
				builder.Build(w)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(stacks), "ns/stack")
		})
	}
}

func BenchmarkMarshal(b *testing.B) {
	w := newWindow()
	manyStacks(w, 10_000, 5000, 30)
	messages := build(b, w, Settings{})
	marshaler := &pprofile.ProtoMarshaler{}
	for b.Loop() {
		for _, m := range messages {
			if _, err := marshaler.MarshalProfiles(m.Profiles); err != nil {
				b.Fatal(err)
			}
		}
	}
}
