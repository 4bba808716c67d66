package symbolize

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const goSource = `package main

import "fmt"

type box[T any] struct{ v T }

//go:noinline
func (b *box[T]) get() T { return b.v }

func leaf(n int) int {
	return n*7 + len(fmt.Sprint(n))
}

func middle(n int) int {
	return leaf(n) + 1
}

//go:noinline
func outer(n int) int {
	return middle(n) * 3
}

func main() {
	fmt.Println(outer(len(fmt.Sprint())), (&box[int]{3}).get())
}
`

// opensFile returns process 7 with a file mapped, and an address of a function
// that the unstripped twin has.
func opensFile(t *testing.T, s *Symbolizer, proc, file string) *Process {
	t.Helper()
	l := describeCode(t, file)
	m := l.mapping(base, file)
	mapFile(t, proc, m, file)
	return process(s, m)
}

func TestGoPrograms(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"with symbols":  {"go build -o prog a.go", "cp prog out"},
		"stripped":      {"go build -o prog a.go", "go build -ldflags=-s\x00-w -o out a.go"},
		"PIE, stripped": {"go build -buildmode=pie -o prog a.go", "go build -buildmode=pie -ldflags=-s\x00-w -o out a.go"},
	}
	for test, commands := range tests {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(goSource), 0o600))
			for _, c := range commands {
				words := strings.Fields(c)
				for i := range words {
					words[i] = strings.ReplaceAll(words[i], "\x00", " ")
				}
				cmd := exec.Command(words[0], words[1:]...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			proc, _ := fakeProc(t)
			s := newPatient(Options{ProcRoot: proc})
			t.Cleanup(s.Close)
			p := opensFile(t, s, proc, filepath.Join(dir, "out"))
			whole := describe(t, filepath.Join(dir, "prog"))
			start := whole.at(p.Mappings[0].Mapping, "main.outer")
			most := &Frame{}
			for off := range addr.Virtual(100) {
				if f := one(s, p, start+off); len(f.Lines) > len(most.Lines) {
					most = f
				}
			}
			require.Len(t, most.Lines, 3)
			assert.Equal(t, KindGo, most.Kind)
			for i, want := range []string{"main.leaf", "main.middle", "main.outer"} {
				assert.Equal(t, want, most.Lines[i].Name, "innermost first")
				assert.Equal(t, "a.go", filepath.Base(most.Lines[i].File))
			}
			assert.Equal(t, []int64{11, 15, 20}, []int64{most.Lines[0].Line, most.Lines[1].Line, most.Lines[2].Line})
			assert.NotEmpty(t, most.Module.GoBuildID)
			get := one(s, p, whole.at(p.Mappings[0].Mapping, "main.(*box[go.shape.int]).get"))
			assert.Equal(t, "main.(*box[...]).get", name(get))
			assert.Equal(t, "main.(*box[go.shape.int]).get", get.Lines[0].SystemName)
			exit := one(s, p, whole.at(p.Mappings[0].Mapping, "runtime.rt0_go.abi0"))
			assert.Equal(t, "runtime.rt0_go", name(exit))
		})
	}
}

func TestRustFrames(t *testing.T) {
	t.Parallel()
	for _, mangling := range []string{"", "-C symbol-mangling-version=v0"} { // the first is what this compiler prefers
		dir := fixture.Build(t, map[string]string{"a.rs": `
pub mod inside {
    #[inline(never)]
    pub fn hot<F: Fn(u64) -> u64>(f: F, n: u64) -> u64 { let mut s = 0; for i in 0..n { s ^= f(i); } s }
}
fn main() { let k = std::env::args().count() as u64; println!("{}", inside::hot(|i| i * k, 1000)); }
`}, "rustc -C opt-level=1 -C debuginfo=0 "+mangling+" -o out a.rs")
		proc, _ := fakeProc(t)
		s := newPatient(Options{ProcRoot: proc})
		t.Cleanup(s.Close)
		file := filepath.Join(dir, "out")
		p := opensFile(t, s, proc, file)
		l := describe(t, file)
		found := false
		for linker := range l.offsets {
			if strings.Contains(linker, "3hot") && strings.Contains(linker, "inside") {
				f := one(s, p, l.at(p.Mappings[0].Mapping, linker))
				assert.Equal(t, KindRust, f.Kind, linker)
				assert.Equal(t, "a::inside::hot", name(f))
				assert.Equal(t, linker, f.Lines[0].SystemName)
				found = true
			}
		}
		assert.True(t, found, mangling)
		assert.Equal(t, KindNative, one(s, p, l.at(p.Mappings[0].Mapping, "main")).Kind, "the C entry point is none of Rust")
	}
}
