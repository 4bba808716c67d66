package symbolize

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

const kallsyms = "ffffffff81000000 T _stext\nffffffff810000f0 t __pfx_do_exit\nffffffff81000100 T do_exit\nffffffff81000200 t next\nffffffff81000300 T _etext\n" +
	"ffffffffc0000000 t init\t[modA]\nffffffffc0001000 t init\t[modB]\n"

// hidden is the same as it is shown to those who may not see addresses.
const hidden = "0000000000000000 T _stext\n0000000000000000 T do_exit\n"

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func kernelSymbolizer(t *testing.T, text string) (s *Symbolizer, file string, c *clock) {
	t.Helper()
	proc := t.TempDir()
	file = filepath.Join(proc, "kallsyms")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c = &clock{time.Unix(1e9, 0)}
	s = newPatient(Options{ProcRoot: proc, Now: c.Now})
	t.Cleanup(s.Close)
	return s, file, c
}

func TestKernelFrames(t *testing.T) {
	t.Parallel()
	s, _, _ := kernelSymbolizer(t, kallsyms)
	frames := s.Kernel([]addr.Virtual{0xffffffff81000200, 0xffffffff81000200, 0xffffffffc0000010, 0xffffffffc0001001, 0xffffffff90000000}, nil)
	require.Len(t, frames, 5)
	assert.Equal(t, "next", name(frames[0]), "the leaf is looked up as it is")
	assert.Equal(t, "do_exit", name(frames[1]), "a caller in the call before its return address")
	assert.Equal(t, addr.File(0xffffffff810001ff), frames[1].Address)
	assert.Equal(t, "[kernel]", frames[0].Module.Path)
	assert.Equal(t, addr.File(0xffffffff810000f0), frames[0].Module.Start)
	assert.Equal(t, addr.File(0xffffffff81000300), frames[0].Module.Limit)
	assert.Equal(t, "init", name(frames[2]))
	assert.Equal(t, "[modA]", frames[2].Module.Path)
	assert.Equal(t, "init", name(frames[3]))
	assert.Equal(t, "[modB]", frames[3].Module.Path)
	assert.Equal(t, ReasonNoSymbol, frames[4].Reason)
	for _, f := range frames {
		assert.Equal(t, KindKernel, f.Kind)
	}
	again := s.Kernel([]addr.Virtual{0xffffffff81000200}, nil)
	assert.Same(t, frames[0], again[0])
	assert.Equal(t, 4, s.Stats().KernelSymbols)
	assert.False(t, s.Stats().KernelHidden)
	assert.Equal(t, [][2]addr.Virtual{{0xffffffff810000f0, 0xffffffff81000200}}, s.KernelRanges("do_exit"))
}

func TestHiddenKernelAddressesThatAreShownLater(t *testing.T) {
	t.Parallel()
	s, file, c := kernelSymbolizer(t, hidden)
	pcs := []addr.Virtual{0xffffffff81000100}
	f := s.Kernel(pcs, nil)[0]
	assert.Equal(t, ReasonKernelHidden, f.Reason)
	assert.Empty(t, f.Lines)
	assert.Equal(t, "[kernel]", f.Module.Path)
	assert.True(t, s.Stats().KernelHidden)
	assert.Nil(t, s.KernelRanges("do_exit"))
	require.NoError(t, os.WriteFile(file, []byte(kallsyms), 0o600))
	assert.Empty(t, s.Kernel(pcs, nil)[0].Lines, "not read again at once")
	c.now = c.now.Add(kernelInterval)
	assert.Equal(t, "do_exit", name(s.Kernel(pcs, nil)[0]))
	assert.False(t, s.Stats().KernelHidden)
}

func TestKernelWithoutSymbolsIsHidden(t *testing.T) {
	t.Parallel()
	s := newPatient(Options{ProcRoot: t.TempDir()})
	defer s.Close()
	assert.Equal(t, ReasonKernelHidden, s.Kernel([]addr.Virtual{0xffffffff81000100}, nil)[0].Reason)
}

func TestModuleLoadedLater(t *testing.T) {
	t.Parallel()
	s, file, c := kernelSymbolizer(t, kallsyms)
	pcs := []addr.Virtual{0xffffffffc0100000, 0xffffffff81000200}
	before := s.Kernel(pcs, nil)
	assert.Equal(t, ReasonNoSymbol, before[0].Reason)
	require.NoError(t, os.WriteFile(file, []byte(kallsyms+"ffffffffc0100000 t late\t[modC]\n"), 0o600))
	c.now = c.now.Add(kernelInterval)
	after := s.Kernel(pcs, nil)
	assert.Equal(t, "late", name(after[0]))
	assert.Equal(t, "[modC]", after[0].Module.Path)
	assert.Same(t, before[1], after[1], "frames that had a name stay the same")
	// A kernel that cannot be read any more keeps its names.
	require.NoError(t, os.Remove(file))
	c.now = c.now.Add(time.Hour)
	assert.Equal(t, ReasonNoSymbol, s.Kernel([]addr.Virtual{0xffffffffd0000000}, nil)[0].Reason)
	assert.Equal(t, "late", name(s.Kernel(pcs, nil)[0]))
}

func TestUnknownKernelAddressesDoNotReadTheSymbolsAgainAndAgain(t *testing.T) {
	t.Parallel()
	s, file, c := kernelSymbolizer(t, kallsyms)
	unknown := []addr.Virtual{0xffffffffd0000000}
	s.Kernel(unknown, nil)
	reads := 0
	for range 3600 {
		c.now = c.now.Add(time.Second)
		was := s.kernel.read
		s.Kernel(unknown, nil)
		if s.kernel.read != was {
			reads++
		}
	}
	assert.Positive(t, reads)
	assert.LessOrEqual(t, reads, 8)
	require.FileExists(t, file)
}
