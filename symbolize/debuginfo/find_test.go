//go:build linux

package debuginfo

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree is a root directory with a program that has a debug file.
type tree struct {
	t    *testing.T
	root string
	work string // where the files were built
}

// newTree makes /bin/p, stripped and with a link to p.debug, which lies in
// work together with files of another program.
func newTree(t *testing.T, built func() (map[string][]byte, error)) *tree {
	t.Helper()
	files, err := built()
	require.NoError(t, err)
	tr := &tree{t: t, root: t.TempDir(), work: t.TempDir()}
	for name, b := range files {
		require.NoError(t, os.WriteFile(filepath.Join(tr.work, name), b, 0o600))
	}
	tr.put("p", "/bin/p")
	return tr
}

// The programs are built once for all tests.
var (
	withID    = sync.OnceValues(func() (map[string][]byte, error) { return buildTree("-Wl,--build-id=sha1") })
	withoutID = sync.OnceValues(func() (map[string][]byte, error) { return buildTree("-Wl,--build-id=none") })
)

func buildTree(flags string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "debuginfo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "p.c"), []byte(programSource), 0o600); err != nil {
		return nil, err
	}
	for _, c := range []string{
		"gcc -O1 -g " + flags + " -o whole p.c", "objcopy --only-keep-debug whole p.debug",
		"strip -o p whole", "objcopy --add-gnu-debuglink=p.debug p",
		"sed s/secret/other/ p.c > q.c", "gcc -O1 -g " + flags + " -o other q.c", "objcopy --only-keep-debug other other.debug",
	} {
		cmd := exec.Command("sh", "-ec", c)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", c, err, out)
		}
	}
	files := make(map[string][]byte)
	for _, name := range []string{"p", "p.c", "p.debug", "whole", "other.debug"} {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (tr *tree) put(file, to string) {
	tr.t.Helper()
	b, err := os.ReadFile(filepath.Join(tr.work, file))
	require.NoError(tr.t, err)
	to = filepath.Join(tr.root, to)
	require.NoError(tr.t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(tr.t, os.WriteFile(to, b, 0o644))
}

func (tr *tree) program() *Program {
	return openProgram(tr.t, filepath.Join(tr.root, "bin/p"), "/bin/p")
}

func (tr *tree) byID() string {
	id := hex.EncodeToString(tr.program().File.BuildIDs().GNU)
	require.NotEmpty(tr.t, id)
	return "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
}

func (tr *tree) find() (*Found, error) {
	tr.t.Helper()
	fd := Finder{Dirs: []string{"/opt/none", "/usr/lib/debug"}}
	f, err := fd.Find(context.Background(), tr.program(), OpenIn("/proc", tr.root))
	if f != nil {
		tr.t.Cleanup(func() { f.File.Close() })
	}
	return f, err
}

// expect checks where the debug file is found, and that it is the right one.
func (tr *tree) expect(path string, source Source) {
	tr.t.Helper()
	f, err := tr.find()
	require.NoError(tr.t, err)
	assert.Equal(tr.t, path, f.Path)
	assert.Equal(tr.t, source, f.Source)
	assert.True(tr.t, hasName(tr.t, f.ELF, "secret"))
}

func (tr *tree) expectNone(why string) {
	tr.t.Helper()
	f, err := tr.find()
	require.ErrorIs(tr.t, err, ErrNone)
	assert.Nil(tr.t, f)
	assert.ErrorContains(tr.t, err, why)
}

func TestByBuildID(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withID)
	tr.expectNone("no debug information")
	tr.put("p.debug", "/bin/p.debug")
	tr.put("p.debug", tr.byID())
	tr.expect(tr.byID(), SourceBuildID) // before the link
	// One with another's contents is passed over.
	tr.put("other.debug", tr.byID())
	tr.expect("/bin/p.debug", SourceDebugLink)
	require.NoError(t, os.Remove(filepath.Join(tr.root, "bin/p.debug")))
	tr.expectNone("its build ID is")
}

func TestByLink(t *testing.T) {
	t.Parallel()
	for _, built := range []func() (map[string][]byte, error){withID, withoutID} {
		tr := newTree(t, built)
		global := "/usr/lib/debug/bin/p.debug"
		tr.put("p.debug", global)
		tr.expect(global, SourceDebugLink)
		tr.put("p.debug", "/bin/.debug/p.debug")
		tr.expect("/bin/.debug/p.debug", SourceDebugLink)
		tr.put("p.debug", "/bin/p.debug")
		tr.expect("/bin/p.debug", SourceDebugLink)
		// Wrong, damaged, useless and odd ones before the right one.
		tr.put("other.debug", "/bin/p.debug")
		tr.put("p.c", "/bin/.debug/p.debug")
		tr.expect(global, SourceDebugLink)
		tr.put("p", "/bin/p.debug")
		require.NoError(t, os.Remove(filepath.Join(tr.root, "bin/.debug/p.debug")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(tr.root, "bin/.debug/p.debug"), 0o644))
		tr.expect(global, SourceDebugLink)
		require.NoError(t, os.Remove(filepath.Join(tr.root, global)))
		tr.expectNone("not a regular file")
	}
}

func TestOnlyTheCRCTells(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withoutID)
	tr.put("other.debug", "/bin/p.debug")
	tr.expectNone("its CRC is")
	tr.put("p.debug", "/bin/p.debug")
	fd := Finder{}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := fd.Find(ctx, tr.program(), OpenIn("/proc", tr.root))
	assert.ErrorIs(t, err, ErrNone)
}

func TestALinkToTheProgramItself(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withID)
	// The debug file is named like the program.
	run(t, tr.work, "mkdir d", "cp p.debug d/p", "objcopy --remove-section .gnu_debuglink p", "objcopy --add-gnu-debuglink=d/p p")
	tr.put("p", "/bin/p")
	tr.expectNone("no debug information")
	tr.put("p.debug", "/usr/lib/debug/bin/p")
	tr.expect("/usr/lib/debug/bin/p", SourceDebugLink)
	// A program with all its symbols would match itself.
	run(t, tr.work, "cp whole w", "objcopy --add-gnu-debuglink=d/p w")
	tr.put("w", "/bin/p")
	tr.expect("/usr/lib/debug/bin/p", SourceDebugLink)
	require.NoError(t, os.Remove(filepath.Join(tr.root, "usr/lib/debug/bin/p")))
	tr.expectNone("it is the program itself")
}

func TestALinkWithoutPadding(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withoutID)
	debug, err := os.ReadFile(filepath.Join(tr.work, "p.debug"))
	require.NoError(t, err)
	link := le.AppendUint32([]byte("p.debug1\x00"), crc32.ChecksumIEEE(debug))
	require.NoError(t, os.WriteFile(filepath.Join(tr.work, "link"), link, 0o600))
	run(t, tr.work, "objcopy --remove-section .gnu_debuglink p", "objcopy --add-section .gnu_debuglink=link p")
	tr.put("p", "/bin/p")
	tr.put("p.debug", "/bin/p.debug1")
	tr.expect("/bin/p.debug1", SourceDebugLink)
}

func TestLinksOutOfTheRootAreNotFollowed(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withID)
	outside := filepath.Join(tr.work, "p.debug")
	link := filepath.Join(tr.root, "bin/p.debug")
	require.NoError(t, os.Symlink(outside, link))
	tr.expectNone("no debug information")
	// Those within are, as if the root were all.
	tr.put("p.debug", "/usr/share/d")
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("/usr/share/d", link))
	tr.expect("/bin/p.debug", SourceDebugLink)
	require.NoError(t, os.Chmod(filepath.Join(tr.root, "usr/share/d"), 0o666))
	tr.expectNone("everybody may write")
}

func TestTheHostHelpsByBuildIDOnly(t *testing.T) {
	t.Parallel()
	tr := newTree(t, withID)
	host := &tree{t: t, root: t.TempDir(), work: tr.work}
	host.put("p", "/bin/p")
	host.put("p.debug", "/bin/p.debug")
	fd := Finder{Dirs: []string{"/usr/lib/debug"}, Host: OpenIn("/proc", host.root)}
	_, err := fd.Find(context.Background(), tr.program(), OpenIn("/proc", tr.root))
	require.ErrorIs(t, err, ErrNone)
	host.put("p.debug", host.byID())
	for _, inRoot := range []Opener{OpenIn("/proc", tr.root), OpenIn("/proc", tr.root+"/gone"), nil} {
		f, err := fd.Find(context.Background(), tr.program(), inRoot)
		require.NoError(t, err)
		assert.Equal(t, host.byID(), f.Path)
		f.File.Close()
	}
}

func TestLinkSections(t *testing.T) {
	t.Parallel()
	crc := "\x01\x02\x03\x04"
	for in, want := range map[string]string{
		"abc\x00" + crc: "abc", "abcd\x00\x00\x00\x00" + crc: "abcd", "abcd\x00" + crc: "abcd", "ab\x00\x00" + crc: "ab",
		"a\x00\x00\x00" + crc + "more": "a",
		"":                             "", "abc": "", "abc\x00": "", "\x00\x00\x00\x00" + crc: "", "a/b\x00" + crc: "", "..\x00\x00" + crc: "",
		"abcd\x00" + crc[:3]: "",
	} {
		l, err := parseLink([]byte(in))
		if want == "" {
			assert.Error(t, err, "%q", in)
			continue
		}
		require.NoError(t, err, "%q", in)
		assert.Equal(t, Link{want, 0x04030201}, l, "%q", in)
	}
}

func FuzzParseLink(f *testing.F) {
	f.Add([]byte("abcd\x00\x00\x00\x00\x01\x02\x03\x04"))
	f.Add([]byte("abcd\x00\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parseLink(b)
		if (err == nil) != (l.Name != "") || len(l.Name) > maxLinkName || filepath.Base(l.Name) != l.Name && err == nil {
			t.Fatalf("%q gave %+v and %v", b, l, err)
		}
	})
}
