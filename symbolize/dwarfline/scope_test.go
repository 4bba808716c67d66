package dwarfline

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

// scoped has inlined functions that GCC gives no linkage names: those in an
// unnamed namespace.
const scoped = `
#define INLINE __attribute__((always_inline)) inline
volatile long sink;
namespace outer {
namespace {
namespace inner {
template <class T, int N> struct Holder {
	struct Part;
	T value;
	INLINE T get(T v) { sink = (int)v; return value + v; }
};
template <class T, int N> struct Holder<T, N>::Part {
	INLINE long part(int n) { sink = n + 11; return sink; }
};
struct Local {
	INLINE long run(long n) { return sink + n; }
};
}
template <class T> INLINE T twice(T x) { sink = 5; return x + x; }
template <class T> INLINE T operator<<(inner::Local l, T x) { sink = 6; return x + l.run(2); }
}
INLINE long named(long x) { sink = 12; return sink + x; }
long work(long n);
}
namespace { template <class T> INLINE T global(T x) { sink = 7; return x ^ sink; } }
extern "C" INLINE long plain_c(long x) { sink = 8; return sink + x; }
__attribute__((noinline)) long outer::work(long n) {
	inner::Holder<long, 3> h{n};
	inner::Holder<long, 3>::Part q;
	return twice<long>(n) + (inner::Local{} << 3L) + plain_c(n) + h.get(n) + q.part(n) + named(n) + global(n);
}
extern "C" void _start() { outer::work(sink); }
`

func TestScopesOfFunctionsWithoutLinkageName(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-gdwarf-5", "-gdwarf-4", "-gdwarf-4 -fdebug-types-section", "-gdwarf-5 -fno-inline-functions -Og"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Build(t, map[string]string{"a.cc": scoped}, "g++ -O2 -fno-exceptions -nostdlib -static "+flags+" -o a a.cc")
			path := filepath.Join(dir, "a")
			d := openData(t, path)
			work := symbol(t, path, "_ZN5outer4workEl")
			seen := map[string]bool{}
			for pc := work.start; pc < work.start+work.size; pc++ {
				for _, l := range lookup(t, d, addr.File(pc)) {
					if l.LinkageName == "" {
						seen[strings.TrimPrefix(l.Scope+"::"+l.Name, "::")] = true
					} else {
						assert.Empty(t, l.Scope)
					}
				}
			}
			assert.Equal(t, map[string]bool{
				"outer::(anonymous namespace)::inner::Holder<long int, 3>::get":        true,
				"outer::(anonymous namespace)::inner::Holder<long int, 3>::Part::part": true,
				"outer::(anonymous namespace)::inner::Local::run":                      true,
				"outer::(anonymous namespace)::twice<long int>":                        true,
				"outer::(anonymous namespace)::operator<< <long int>":                  true,
				"(anonymous namespace)::global<long int>":                              true,
				"plain_c": true,
			}, seen)
			before := d.Bytes()
			d.Drop()
			require.Less(t, d.Bytes(), before)
		})
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	table := scopeTable{{10, 100, -1, true}, {20, 40, 0, false}, {30, 35, 1, false}, {50, 60, 0, false}, {200, 300, -1, false}}
	for at, want := range map[uint32]int32{5: -1, 10: -1, 11: 0, 20: 0, 25: 1, 30: 1, 31: 2, 35: 1, 40: 0, 55: 3, 70: 0, 100: -1, 250: 4, 300: -1} {
		assert.Equal(t, want, table.around(at), "%d", at)
	}
	assert.Equal(t, int32(-1), scopeTable(nil).around(5))
}
