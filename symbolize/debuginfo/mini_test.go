package debuginfo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/elffile"
)

// miniCommands make p with MiniDebugInfo as distributions do: the symbols of
// functions that .dynsym does not have, packed into a section.
var miniCommands = []string{
	"gcc -O1 -g -o whole p.c",
	"nm -D whole --format=posix --defined-only | awk '{print $1}' | sort > dynsyms",
	`nm whole --format=posix --defined-only | awk '$2 ~ /[Tt]/ {print $1}' | sort > funcs`,
	"comm -13 dynsyms funcs > keep",
	"objcopy --only-keep-debug whole debug",
	"objcopy -S --remove-section .gdb_index --remove-section .comment --keep-symbols=keep debug mini",
	"xz -k mini",
	"strip -o p whole",
	"objcopy --add-section .gnu_debugdata=mini.xz p",
}

func TestMiniDebugInfoNamesStaticFunctions(t *testing.T) {
	t.Parallel()
	dir := build(t, miniCommands...)
	p := openProgram(t, filepath.Join(dir, "p"), "/p")
	require.False(t, hasName(t, p.File, "secret"))
	r, err := Mini(p.File)
	require.NoError(t, err)
	f, err := elffile.New(r, r.Size())
	require.NoError(t, err)
	syms, err := f.Symbols()
	require.NoError(t, err)
	want := addressOf(t, filepath.Join(dir, "whole"), "secret")
	for i := range syms.Len() {
		if syms.Name(i) == "secret" {
			start, _ := syms.Range(i)
			assert.Equal(t, want, fmt.Sprintf("%x", start))
			return
		}
	}
	t.Fatal("secret has no name")
}

func TestMiniDebugInfoThatIsNone(t *testing.T) {
	t.Parallel()
	dir := build(t, "gcc -o p p.c", "echo no xz data at all > junk",
		"objcopy --add-section .gnu_debugdata=junk p bad",
		"head -c 70M /dev/zero | xz -1 > bomb.xz", "objcopy --add-section .gnu_debugdata=bomb.xz p bomb")
	for name, want := range map[string]error{"p": ErrNone, "bad": errXZ, "bomb": errXZ} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		_, err = Mini(elfOf(t, b))
		assert.ErrorIs(t, err, want, name)
	}
}
