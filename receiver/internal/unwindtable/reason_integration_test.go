//go:build integration && linux

package unwindtable

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/bpf"
)

// program builds a program of testdata.
func program(tb testing.TB, name string) string {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), name)
	msg, err := exec.Command("gcc", "-O2", "-fomit-frame-pointer", "-o", out, "testdata/"+name+".c").CombinedOutput()
	require.NoError(tb, err, "%s", msg)
	return out
}

// endsOf samples a process until a few samples were kept, and returns how often
// stacks ended how.
func endsOf(t *testing.T, s *bpf.Sampler) map[bpf.StackEnd]uint64 {
	t.Helper()
	ends, kept := map[bpf.StackEnd]uint64{}, uint64(0)
	for deadline := time.Now().Add(5 * time.Minute); kept < 50; time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no samples")
		samples, stats, err := s.Drain()
		require.NoError(t, err)
		kept += stats.Kept
		for i := range samples {
			if len(samples[i].User) > 0 {
				ends[samples[i].End] += samples[i].Count
			}
		}
	}
	return ends
}

// A walk that goes astray behind code whose table is to come ended for want of
// that table, wherever it ended; of a file that has none, the reason is its own.
func TestStacksThatEndForWantOfATable(t *testing.T) {
	for name, tt := range map[string]struct {
		first uint32
		want  bpf.StackEnd
	}{
		"to come": {1, bpf.EndNoTable},
		"none":    {0, bpf.EndFrame},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(program(t, "lost"))
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}()
			// Before that it asks as the test's own fork, or from its loader.
			_, err = out.Read(make([]byte, 1))
			require.NoError(t, err)
			_, tables := real(t, 1<<15, 1<<10)
			asked := make(chan bpf.TableRequest, 16)
			go func() { _ = tables.Requests(func(r bpf.TableRequest) { asked <- r }) }()
			s, err := bpf.NewSampler(bpf.Options{Frequency: 999, DrainInterval: time.Second, FilterTargets: true, Tables: tables})
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			require.NoError(t, s.SetTarget(target(t, cmd.Process.Pid), bpf.Keep))
			request := <-asked
			require.NoError(t, tables.WriteMappings(0, []bpf.Mapping{{Start: 0x10000000, Limit: 0x7fff00000000, First: tt.first}}))
			require.NoError(t, tables.SetSpace(bpf.Space{SpaceRequest: request.SpaceRequest, Count: 1}))
			_, _, err = s.Drain()
			require.NoError(t, err)
			ends := endsOf(t, s)
			require.Len(t, ends, 1, "%v", ends)
			require.Contains(t, ends, tt.want)
			if tt.first == 0 {
				return
			}
			// It asks for the file, once.
			ask := <-asked
			require.Equal(t, request.SpaceRequest, ask.SpaceRequest)
			require.True(t, ask.Address >= 0x10000000 && ask.Address < 0x7fff00000000, "%#x", ask.Address)
			require.Empty(t, asked)
			// And again when it was told of something.
			require.NoError(t, tables.SetSpace(bpf.Space{SpaceRequest: request.SpaceRequest, Count: 1}))
			require.Equal(t, ask, <-asked)
		})
	}
}
