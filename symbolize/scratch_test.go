package symbolize

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const regexSource = `
#include <regex>
#include <string>
int main(int argc, char **argv) {
	std::regex r(argv[0]);
	std::smatch m;
	std::string text = argv[argc - 1];
	return std::regex_search(text, m, r);
}
`

// TestCompressedDebugInformationThatIsTooLargeForMemory compares the names by
// debug information that is unpacked to a file with those of one that is not
// packed.
func TestCompressedDebugInformationThatIsTooLargeForMemory(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": regexSource}, "g++ -O1 -g -gz -o packed a.cc", "objcopy --decompress-debug-sections packed plain")
	code := describeCode(t, filepath.Join(dir, "plain")).code
	open := func(name string, room int64) (*Symbolizer, *Process) {
		s := newPatient(Options{MaxCacheBytes: room})
		t.Cleanup(s.Close)
		p, err := s.OpenFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return s, p
	}
	s, packed := open("packed", 2<<20)
	whole, plain := open("plain", 0)
	inlined := 0
	for at := code.Vaddr; at < code.Vaddr+code.Filesz; at += 97 {
		want, got := one(whole, plain, addr.Virtual(at)), one(s, packed, addr.Virtual(at))
		require.Equal(t, want.Lines, got.Lines, "%#x", at)
		inlined += max(0, len(got.Lines)-1)
	}
	assert.Positive(t, inlined)
	assert.Positive(t, s.files.scratch.used)
	giveBack(s)
	assert.Zero(t, s.files.scratch.used, "dropped with what it belongs to")
	one(s, packed, addr.Virtual(code.Vaddr+code.Filesz/2))
	assert.Positive(t, s.files.scratch.used)
	s.Close()
	assert.Empty(t, s.files.scratch.files)
}

// giveBack lets a Symbolizer drop all that it holds for memory.
func giveBack(s *Symbolizer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.opts.MaxCacheBytes
	s.opts.MaxCacheBytes = 0
	s.tick++
	s.shrink()
	s.opts.MaxCacheBytes = room
}

func TestScratchIsBounded(t *testing.T) {
	t.Parallel()
	var pool scratchPool
	f, err := pool.make(10)
	require.NoError(t, err)
	_, err = f.Write([]byte("0123456789"))
	require.NoError(t, err)
	_, err = f.Write([]byte("0"))
	require.ErrorIs(t, err, errNoScratch, "no more than was asked for")
	got, err := io.ReadAll(io.NewSectionReader(f, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []byte("234"), bytes.TrimSpace(got))
	_, err = pool.make(maxScratchBytes)
	require.ErrorIs(t, err, errNoScratch)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	assert.Zero(t, pool.used)
	_, err = pool.make(1 << 60)
	require.ErrorIs(t, err, errNoScratch)

	g, err := pool.make(1)
	require.NoError(t, err)
	pool.close()
	_, err = g.ReadAt(make([]byte, 1), 0)
	require.Error(t, err)
	_, err = pool.make(1)
	require.ErrorIs(t, err, errNoScratch)
}
