package symbolize

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/procmap"
)

// TestVDSO names the functions of this process's own vDSO, with the mapping as
// procfs and as events tell it (they give anonymous memory an offset).
func TestVDSO(t *testing.T) {
	t.Parallel()
	s := newPatient(Options{})
	defer s.Close()
	ms, err := procmap.Read("/proc", os.Getpid())
	require.NoError(t, err)
	var m procmap.Mapping
	for i := range ms {
		if ms[i].Path == "[vdso]" {
			m = ms[i]
		}
	}
	require.NotZero(t, m.Start, "this process has no vdso")
	data, err := s.readVDSO("self", &m)
	require.NoError(t, err)
	e, err := elf.NewFile(bytes.NewReader(data))
	require.NoError(t, err)
	syms, err := e.DynamicSymbols()
	require.NoError(t, err)
	for _, offset := range []addr.Offset{0, addr.Offset(m.Start)} {
		m.Offset = offset
		o := s.Open(os.Getpid(), m)
		assert.Same(t, o, s.Open(1<<30, m), "all processes share it, also those that are gone")
		p := NewProcess(os.Getpid(), 0).With([]Mapped{{Mapping: m, Object: o}})
		checked := 0
		for _, sym := range syms {
			if sym.Name != "__vdso_clock_gettime" && sym.Name != "__kernel_clock_gettime" {
				continue
			}
			checked++
			f := one(s, p, m.Start+addr.Virtual(sym.Value)+4)
			assert.Equal(t, sym.Name, name(f), "and not the weak alias clock_gettime")
			assert.Equal(t, "[vdso]", f.Module.Path)
			assert.Equal(t, KindNative, f.Kind)
			assert.NotEmpty(t, f.Module.GNUBuildID)
		}
		assert.Equal(t, 1, checked)
	}
}
