package symbolize

import (
	"os"
	"path/filepath"
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
