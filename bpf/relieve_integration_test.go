//go:build integration && linux

package bpf

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	manyRounds = 20
	manyPaths  = 500 // in each round: more than a quarter of what the map holds in two
	mapForMany = 2048
)

// openMany opens files that all differ, of which there are none.
func openMany(t *testing.T, round int) {
	t.Helper()
	for i := range manyPaths {
		_, err := unix.Open(fmt.Sprintf("/missing/many/%d/%d", round, i), unix.O_RDONLY, 0)
		require.ErrorIs(t, err, unix.ENOENT)
	}
}

// Between two drains there may be several times as many distinct events as the
// kernel's maps hold, if these are relieved meanwhile.
func TestRelieveMakesRoom(t *testing.T) {
	for name, relieved := range map[string]bool{"relieved": true, "left alone": false} {
		t.Run(name, func(t *testing.T) {
			tr, err := NewTracer(FileOpens(FileOpenOptions{}), Options{
				DrainInterval: time.Second, MapEntries: mapForMany, FilterTargets: true,
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, tr.Close()) })
			require.NoError(t, tr.SetTarget(processOf(t, os.Getpid()), Keep))
			drainOf(t, tr, os.Getpid())
			for round := range manyRounds {
				openMany(t, round)
				if relieved {
					require.NoError(t, tr.Relieve())
				}
			}
			list, stats := drainOf(t, tr, os.Getpid())
			seen := make(map[string]uint64)
			for _, s := range list {
				if path := textsOf(s.Record); strings.HasPrefix(path, "/missing/many/") {
					seen[path] += s.Count
				}
			}
			if !relieved {
				require.Less(t, len(seen), manyRounds*manyPaths)
				require.NotZero(t, stats.LostCountsFull+stats.LostStacksFull)
				return
			}
			require.Zero(t, stats.Lost(), "%+v", stats)
			require.Len(t, seen, manyRounds*manyPaths)
			for path, n := range seen {
				require.EqualValues(t, 1, n, path)
			}
			require.Less(t, max(stats.CountsUsed, stats.StacksUsed), 1.0)
		})
	}
}

// What a drain returned stays as it is while the maps are relieved.
func TestRelieveLeavesWhatWasDrained(t *testing.T) {
	tr, err := NewTracer(FileOpens(FileOpenOptions{}), Options{DrainInterval: time.Second, MapEntries: mapForMany, FilterTargets: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tr.Close()) })
	require.NoError(t, tr.SetTarget(processOf(t, os.Getpid()), Keep))
	openMany(t, 0)
	samples, _, err := tr.Drain()
	require.NoError(t, err)
	texts := func() (all []string) {
		for i := range samples {
			all = append(all, fmt.Sprint(textsOf(samples[i].Record), samples[i].User, samples[i].Kernel))
		}
		return all
	}
	before := texts()
	require.GreaterOrEqual(t, len(before), manyPaths)
	for round := range 4 {
		openMany(t, round+1)
		require.NoError(t, tr.Relieve())
	}
	require.Equal(t, before, texts())
}
