//go:build integration

package symbolize

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
	"github.com/flametel/flametel/symbolize/procmap"
)

// raceTime is how long files and processes change while they are named; the
// environment may ask for more.
func raceTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FLAMETEL_RACE_TIME")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// TestLiveFilesAndProcessesThatChange names code of programs that are killed,
// and of files that are replaced, overwritten, cut and deleted meanwhile. A
// name may be missing; it must never be one of another file.
func TestLiveFilesAndProcessesThatChange(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.c": sleeper("name_of_a"), "b.c": sleeper("name_of_b_which_is_longer")},
		"gcc -O1 -g -o a a.c", "gcc -O1 -g -o b b.c", "gcc -O1 -g -Wl,--build-id=none -o an a.c", "gcc -O1 -g -Wl,--build-id=none -o bn b.c")
	s := New(Options{MaxCacheBytes: 1 << 20, MaxOpenFiles: 8})
	t.Cleanup(s.Close)
	end := time.Now().Add(raceTime(t))
	var named, unnamed, wrong atomic.Int64
	var wg sync.WaitGroup
	for worker, pair := range [][2]string{{"a", "b"}, {"an", "bn"}, {"a", "bn"}} {
		file := filepath.Join(dir, fmt.Sprintf("prog%d", worker))
		rng := rand.New(rand.NewPCG(uint64(worker), 1))
		wg.Go(func() {
			for time.Now().Before(end) {
				which := rng.IntN(2)
				want := []string{"name_of_a", "name_of_b_which_is_longer"}[which]
				os.Remove(file) // it may not be there
				copyOf(t, filepath.Join(dir, pair[which]), file)
				cmd := exec.Command(file)
				out, err := cmd.StdoutPipe()
				if err != nil || cmd.Start() != nil {
					continue
				}
				var pid int
				var at uint64
				fmt.Fscanf(out, "%d %x", &pid, &at)
				changed := make(chan struct{})
				go func() { defer close(changed); disturb(rng, cmd, file, filepath.Join(dir, pair[1-which])) }()
				p := snapshot(s, cmd.Process.Pid)
				for range 20 {
					got := name(one(s, p, addr.Virtual(at)))
					switch got {
					case want:
						named.Add(1)
					case "":
						unnamed.Add(1)
					default:
						wrong.Add(1)
						t.Errorf("%s is named %s", want, got)
					}
				}
				<-changed
				cmd.Process.Kill()
				cmd.Wait()
			}
		})
	}
	wg.Wait()
	t.Logf("%d named, %d without a name, %d wrong; %+v", named.Load(), unnamed.Load(), wrong.Load(), s.Stats())
	assert.Zero(t, wrong.Load())
	assert.Positive(t, named.Load())
	assert.LessOrEqual(t, s.Stats().CacheBytes, int64(1<<20))
	assert.LessOrEqual(t, s.Stats().OpenFiles, 8)
}

// disturb does one of the things that happen to programs.
func disturb(rng *rand.Rand, cmd *exec.Cmd, file, other string) {
	switch rng.IntN(6) {
	case 0:
		os.Remove(file)
	case 1:
		os.Rename(other+".copy", file) // mostly not there
	case 2:
		os.Truncate(file, 100) // refused while it runs
	case 3:
		cmd.Process.Kill()
		cmd.Process.Wait()
		os.Truncate(file, int64(rng.IntN(20000)))
	case 4:
		cmd.Process.Kill()
		cmd.Process.Wait()
		if b, err := os.ReadFile(other); err == nil {
			os.WriteFile(file, b, 0o755)
		}
	case 5:
		if b, err := os.ReadFile(other); err == nil && os.WriteFile(file+".new", b, 0o755) == nil {
			os.Rename(file+".new", file)
		}
	}
}

// copyOf makes a program that can be run at once: no descriptor for writing it
// may be open in a child that another goroutine just forked.
func copyOf(t *testing.T, from, to string) {
	b, err := os.ReadFile(from)
	if err != nil {
		t.Error(err)
		return
	}
	cmd := exec.Command("sh", "-c", `cat > "$1.tmp" && chmod 755 "$1.tmp" && mv "$1.tmp" "$1"`, "sh", to)
	cmd.Stdin = bytes.NewReader(b)
	cmd.Run() // the next step notices
}

// snapshot opens what is mapped now.
func snapshot(s *Symbolizer, pid int) *Process {
	ms, _ := procmap.Read("/proc", pid) // none, if it is gone
	var mapped []Mapped
	for _, m := range ms {
		mapped = append(mapped, Mapped{Mapping: m, Object: s.Open(pid, m)})
	}
	return NewProcess(pid, 0).With(mapped)
}
