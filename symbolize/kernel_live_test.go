package symbolize

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func kernelNames(s *Symbolizer, pcs ...addr.Virtual) []string {
	var names []string
	for _, pc := range pcs {
		f := s.Kernel([]addr.Virtual{pc}, nil)[0]
		names = append(names, f.Module.Path+" "+name(f))
	}
	return names
}

func TestKernelCodeThatComesAndGoes(t *testing.T) {
	t.Parallel()
	s, _, _ := kernelSymbolizer(t, kallsyms+"ffffffffc0100000 t bpf_prog_1_old\t[bpf]\n")
	const at = 0xffffffffc0100010
	require.Equal(t, []string{"[bpf] bpf_prog_1_old"}, kernelNames(s, at))
	s.RemoveKernelSymbol(0xffffffffc0100000, 0x80, "bpf_prog_1_old")
	require.Equal(t, []string{"[bpf] bpf_prog_1_old"}, kernelNames(s, at), "samples of a moment ago")
	s.AddKernelSymbol(0xffffffffc0100000, 0x80, "bpf_prog_2_new")
	require.Equal(t, []string{"[bpf] bpf_prog_2_new"}, kernelNames(s, at))
	require.Equal(t, []string{"[bpf] bpf_prog_2_new"}, kernelNames(s, 0xffffffffc010007f))
	require.Equal(t, ReasonNoSymbol, s.Kernel([]addr.Virtual{0xffffffffc0300000}, nil)[0].Reason)
}

// Programs that are loaded and unloaded all the time do not make the list of
// all symbols be read again.
func TestChurnOfKernelCodeReadsNothingAgain(t *testing.T) {
	t.Parallel()
	s, file, _ := kernelSymbolizer(t, kallsyms)
	require.Equal(t, []string{"[kernel] next"}, kernelNames(s, 0xffffffff81000200))
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(kallsyms, "next", "read_again")), 0o600))
	for i := range 2000 {
		start := addr.Virtual(0xffffffffc0100000) + addr.Virtual(i%50*0x100)
		s.AddKernelSymbol(start, 0x100, fmt.Sprint("bpf_prog_", i))
		require.Equal(t, []string{fmt.Sprint("[bpf] bpf_prog_", i)}, kernelNames(s, start+5))
		s.RemoveKernelSymbol(start, 0x100, "")
	}
	require.Equal(t, []string{"[kernel] next"}, kernelNames(s, 0xffffffff81000210))
	held := s.Stats().CacheBytes
	for i := range 2000 {
		s.AddKernelSymbol(addr.Virtual(0xffffffffc0100000)+addr.Virtual(i%50*0x100), 0x100, fmt.Sprint("bpf_prog_", i))
	}
	require.LessOrEqual(t, s.Stats().CacheBytes, held)
}

func TestOtherSourceWhereKallsymsHides(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		text string
		err  error
		want string
	}{
		"it shows":   {kallsyms, nil, "[kernel] do_exit"},
		"it hides":   {hidden, nil, "[kernel] "},
		"it fails":   {"", errors.New("not supported"), "[kernel] "},
		"it is junk": {"\x00\xff", nil, "[kernel] "},
	} {
		proc := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(proc, "kallsyms"), []byte(hidden), 0o600))
		s := New(Options{ProcRoot: proc, KernelSymbols: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(c.text)), c.err
		}})
		got := kernelNames(s, 0xffffffff81000150)
		s.Close()
		assert.Equal(t, c.want, got[0], what)
	}
}

func TestOtherSourceIsNotAskedWithoutNeed(t *testing.T) {
	t.Parallel()
	proc := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(proc, "kallsyms"), []byte(kallsyms), 0o600))
	s := New(Options{ProcRoot: proc, KernelSymbols: func() (io.ReadCloser, error) {
		t.Error("asked")
		return nil, errors.New("no")
	}})
	defer s.Close()
	require.Equal(t, []string{"[kernel] do_exit"}, kernelNames(s, 0xffffffff81000150))
}
