package symbolize

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// TestInlinedFunctionsWithoutLinkerName has a template in an unnamed namespace,
// which GCC gives none where it is inlined.
func TestInlinedFunctionsWithoutLinkerName(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"a.cc": `
volatile long sink;
namespace app { namespace {
template <class T> struct Box { __attribute__((always_inline)) inline T get(T x) { sink = 1; return x + sink; } };
} }
extern "C" __attribute__((noinline)) long outermost(long x) { return app::Box<long>().get(x); }
`}, "g++ -O2 -g -shared -fPIC -o lib.so a.cc")
	l := describe(t, filepath.Join(dir, "lib.so"))
	start := addr.Virtual(l.code.Vaddr) + addr.Virtual(l.offsets["outermost"]) - addr.Virtual(l.code.Off)
	for style, want := range map[demangle.Style]string{
		demangle.Simple: "app::(anonymous namespace)::Box::get",
		demangle.Full:   "app::(anonymous namespace)::Box<long int>::get",
		demangle.None:   "get",
	} {
		s := newPatient(Options{Demangle: style})
		p, err := s.OpenFile(l.path)
		require.NoError(t, err)
		var got []Line
		for at := start; at < start+16 && len(got) < 2; at++ {
			got = one(s, p, at).Lines
		}
		require.Len(t, got, 2)
		assert.Equal(t, want, got[0].Name)
		assert.Empty(t, got[0].SystemName)
		assert.Equal(t, "outermost", got[1].Name)
		s.Close()
	}
}
