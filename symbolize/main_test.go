package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPatient returns a Symbolizer that waits for files however slow the machine
// is.
func newPatient(o Options) *Symbolizer {
	s := New(o)
	s.patience = patience{load: time.Minute, short: time.Minute, jit: time.Minute}
	return s
}

// build writes sources into a fresh folder and runs commands there.
func build(t testing.TB, sources map[string]string, commands ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range commands {
		words := strings.Fields(c)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c, out)
	}
	return dir
}

// fakeProc makes a procfs with the process 7, whose root is the returned root.
func fakeProc(t testing.TB) (proc, root string) {
	t.Helper()
	proc, root = t.TempDir(), t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(proc, "7/map_files"), 0o755))
	require.NoError(t, os.Symlink(root, filepath.Join(proc, "7/root")))
	require.NoError(t, os.Symlink("/proc/self", filepath.Join(proc, "self")))
	return proc, root
}

// mapFile enters a file under the mapping in the fake procfs, as the kernel
// does.
func mapFile(t testing.TB, proc string, m procmap.Mapping, target string) {
	t.Helper()
	name := hexa(uint64(m.Start)) + "-" + hexa(uint64(m.Limit))
	require.NoError(t, os.Symlink(target, filepath.Join(proc, "7/map_files", name)))
}

// process returns process 7 with these mappings, opened.
func process(s *Symbolizer, ms ...procmap.Mapping) *Process {
	mapped := make([]Mapped, len(ms))
	for i, m := range ms {
		mapped[i] = Mapped{Mapping: m, Object: s.Open(7, m)}
	}
	return NewProcess(7, 0).With(mapped)
}

// one names one address as a leaf.
func one(s *Symbolizer, p *Process, at addr.Virtual) *Frame {
	return s.User(p, []addr.Virtual{at}, nil)[0]
}

func name(f *Frame) string {
	if len(f.Lines) == 0 {
		return ""
	}
	return f.Lines[0].Name
}
