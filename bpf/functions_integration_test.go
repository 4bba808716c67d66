//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhetherTheKernelPreempts(t *testing.T) {
	for text, calm := range map[string]bool{
		"none (voluntary) full \n":                      true,
		"(none) voluntary full \n":                      true,
		"none voluntary (full) \n":                      false,
		"full (lazy) \n":                                false,
		"#1 SMP PREEMPT_DYNAMIC Debian 6.1 (2025-1-1)":  false,
		"#1 SMP PREEMPT Thu Jan 1 00:00:00 UTC 1970":    false,
		"#1 SMP PREEMPT_RT Thu Jan 1 00:00:00 UTC 1970": false,
		"#1 SMP Thu Jan 1 00:00:00 UTC 1970":            true,
	} {
		require.Equal(t, calm, preempts(text) == nil, text)
	}
}

// A kind hangs on functions or on tracepoints, never on some of both, and says
// which. One function that is missing is enough for the latter.
func TestCallsAreSeenOneWay(t *testing.T) {
	for kind, p := range map[string]*Probe{"reads": FileReads(FileReadOptions{}), "opens": FileOpens(FileOpenOptions{})} {
		last := p.calls.functions[len(p.calls.functions)-1]
		for name, without := range map[string][]string{"this kernel": nil, "one is missing": {last}} {
			t.Run(kind+" "+name, func(t *testing.T) {
				told := 0
				var refused error
				tr, err := NewTracer(p, Options{
					DrainInterval: time.Second, MapEntries: minMapEntries, Without: without,
					OnCallHooks: func(err error) { told, refused = told+1, err },
				})
				require.NoError(t, err)
				defer func() { require.NoError(t, tr.Close()) }()
				require.Equal(t, 1, told)
				if without != nil {
					require.ErrorContains(t, refused, last)
				}
				programs := tr.objects.programs.Programs
				if refused != nil {
					require.Len(t, programs, 3)
					require.Len(t, tr.links, 3)
					require.Contains(t, programs, kind+"_enter")
					require.NotContains(t, tr.objects.programs.Maps, kind+"_ends")
					return
				}
				require.Contains(t, programs, kind+"_call_"+last)
				require.NotContains(t, programs, kind+"_enter")
				require.Len(t, tr.links, len(programs)-1, "the shared end is called by others")
			})
		}
	}
}

// Calls of 32-bit programs come by functions of their own.
func TestCallsOf32BitPrograms(t *testing.T) {
	dir := t.TempDir()
	path, program := filepath.Join(dir, "file"), filepath.Join(dir, "calls32")
	require.NoError(t, os.WriteFile(path, make([]byte, 1<<20), 0o600))
	msg, err := exec.Command("gcc", "-O1", "-static", "-no-pie", "-o", program, "testdata/calls32.c").CombinedOutput()
	require.NoError(t, err, "%s", msg)
	for name, c := range map[string]struct {
		probe *Probe
		want  map[string]uint64
	}{
		"reads": {FileReads(FileReadOptions{}), map[string]uint64{
			"3 0": 21, "145 0": 22, "180 0": 23, "333 0": 24, "378 0": 25, "187 0": 6, "239 0": 7,
		}},
		"opens": {FileOpens(FileOpenOptions{}), map[string]uint64{"5 0": 11, "8 2": 12, "295 0": 13, "437 0": 14}},
	} {
		t.Run(name, func(t *testing.T) {
			f := startProgram(t, program, path)
			tr := tracer(t, c.probe, f.pid())
			f.do(t)
			list, stats := drainOf(t, tr, f.pid())
			require.Zero(t, stats.Lost(), "%+v", stats)
			got := make(map[string]uint64)
			for _, s := range list {
				if s.Detail&SyscallCompat != 0 {
					got[fmt.Sprintf("%d %d", uint32(s.Detail), s.Detail>>SyscallErrnoShift&SyscallErrnoMask)] += s.Count
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}
