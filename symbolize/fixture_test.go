package symbolize

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
	"github.com/flametel/flametel/symbolize/procmap"
)

func hexa(v uint64) string { return strconv.FormatUint(v, 16) }

// library is a built file with what debug/elf says of it.
type library struct {
	path    string
	code    *elf.Prog // its executable segment
	offsets map[string]addr.Offset
	inode   uint64
	dev     uint64
	buildID []byte
}

func describe(t testing.TB, path string) *library {
	t.Helper()
	l := describeCode(t, path)
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		syms, err = f.DynamicSymbols()
	}
	require.NoError(t, err)
	for _, s := range syms {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
			l.offsets[s.Name] = addr.Offset(s.Value - l.code.Vaddr + l.code.Off)
		}
	}
	return l
}

// describeCode is describe for files that may have no symbols.
func describeCode(t testing.TB, path string) *library {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer f.Close()
	l := &library{path: path, offsets: map[string]addr.Offset{}}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			l.code = p
		}
	}
	require.NotNil(t, l.code)
	if note := f.Section(".note.gnu.build-id"); note != nil {
		b, err := note.Data()
		require.NoError(t, err)
		l.buildID = b[16:]
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	st := info.Sys().(*syscall.Stat_t)
	l.inode, l.dev = st.Ino, uint64(st.Dev)
	return l
}

// mapping is what /proc/PID/maps says of the code mapped at base under a name.
func (l *library) mapping(base addr.Virtual, name string) procmap.Mapping {
	start := l.code.Off &^ 0xfff
	end := (l.code.Off + l.code.Filesz + 0xfff) &^ 0xfff
	return procmap.Mapping{
		Start: base, Limit: base + addr.Virtual(end-start), Offset: addr.Offset(start),
		Dev: l.dev, Inode: l.inode, Path: name, Executable: true,
	}
}

// event is the same as an event with a build ID tells it.
func (l *library) event(base addr.Virtual, name string) procmap.Mapping {
	m := l.mapping(base, name)
	m.Dev, m.Inode, m.BuildID = 0, 0, l.buildID
	return m
}

// at is the address of a function in a mapping.
func (l *library) at(m procmap.Mapping, function string) addr.Virtual {
	off, ok := l.offsets[function]
	if !ok {
		panic("no function " + function)
	}
	return m.Start + addr.Virtual(off-m.Offset)
}

const base = addr.Virtual(0x7f0000000000)

// functions builds a shared object with one function of each name.
func functions(t testing.TB, flags string, names ...string) *library {
	t.Helper()
	src := ""
	for _, n := range names {
		src += "int " + n + "(int n) { return n + " + strconv.Itoa(len(src)) + "; }\n"
	}
	dir := fixture.Build(t, map[string]string{"a.c": src}, "gcc -O1 -shared -fPIC "+flags+" -o lib.so a.c")
	return describe(t, filepath.Join(dir, "lib.so"))
}

func inodeOf(info os.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func mkfifo(name string) error { return syscall.Mkfifo(name, 0o600) }

func deviceOf(info os.FileInfo) uint64 { return uint64(info.Sys().(*syscall.Stat_t).Dev) }
