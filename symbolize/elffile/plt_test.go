package elffile

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

const callerSource = `
extern int empty(void);
extern int other(int);
int (*address)(void) = empty;
int run(int n) { int s = 0; while (n--) s += empty() + other(n); return s; }
`

// stubLine is a stub in a listing of objdump.
var stubLine = regexp.MustCompile(`(?m)^([0-9a-f]+) <([^>]*)@plt>:$`)

func TestStubsOfTheLinkageTable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ compile, objdump string }{
		"lazy":                  {"gcc -O1 -shared -fPIC -Wl,-z,lazy -o out a.c", "objdump"},
		"bound at start":        {"gcc -O1 -shared -fPIC -Wl,-z,now -o out a.c", "objdump"},
		"indirect branch marks": {"gcc -O1 -shared -fPIC -fcf-protection -Wl,-z,lazy -Wl,-z,ibtplt -o out a.c", "objdump"},
		"marks, bound at start": {"gcc -O1 -shared -fPIC -fcf-protection -Wl,-z,now -Wl,-z,ibtplt -o out a.c", "objdump"},
		"gold":                  {"gcc -O1 -shared -fPIC -fuse-ld=gold -o out a.c", "objdump"},
		"32 bits":               {"gcc -m32 -O1 -shared -fPIC -nostdlib -o out a.c", "objdump"},
		"32 bits, with marks":   {"gcc -m32 -O1 -shared -fPIC -nostdlib -fcf-protection -Wl,-z,ibtplt -o out a.c", "objdump"},
		"AArch64":               {"aarch64-linux-gnu-gcc -O1 -shared -fPIC -nostdlib -o out a.c", "aarch64-linux-gnu-objdump"},
		"AArch64 with marks":    {"aarch64-linux-gnu-gcc -O1 -shared -fPIC -nostdlib -mbranch-protection=standard -Wl,-z,force-bti -o out a.c", "aarch64-linux-gnu-objdump"},
	}
	for name, tt := range tests {
		for _, strip := range []string{"", "s"} {
			t.Run(name+strip, func(t *testing.T) {
				t.Parallel()
				dir := fixture.Build(t, map[string]string{"a.c": callerSource}, tt.compile)
				out, err := exec.Command(tt.objdump, "-d", filepath.Join(dir, "out")).Output()
				require.NoError(t, err)
				if strip != "" {
					require.NoError(t, exec.Command(tt.objdump[:len(tt.objdump)-len("objdump")]+"strip", filepath.Join(dir, "out")).Run())
				}
				f := openFile(t, dir, "out")
				s := symbolsOf(t, f)
				seen := map[string]bool{}
				for _, m := range stubLine.FindAllStringSubmatch(string(out), -1) {
					at, err := strconv.ParseUint(m[1], 16, 64)
					require.NoError(t, err)
					seen[m[2]] = true
					for _, off := range []uint64{0, 5, 7} {
						assert.Equal(t, m[2]+"@plt", nameOf(s, addr.File(at+off)), "%#x", at+off)
					}
				}
				assert.True(t, seen["empty"] && seen["other"], "objdump knows the stubs: %v", seen)
				plt, ok := f.Section(".plt")
				require.True(t, ok)
				assert.Equal(t, "[plt]", nameOf(s, plt.Address), "the code that all stubs share")
				for i := range s.Len() {
					if start, limit := s.Range(i); s.Name(i) != "[plt]" {
						assert.False(t, plt.Address >= start && plt.Address < limit, "%s covers the start of the table", s.Name(i))
					}
				}
			})
		}
	}
}

func TestStubsOfIndirectFunctionsAreNamedByThem(t *testing.T) {
	t.Parallel()
	dir := fixture.Build(t, map[string]string{"i.c": `
static int fast(void) { return 1; }
static void *pick(void) { return fast; }
static int work(void) __attribute__((ifunc("pick")));
int main(void) { return work(); }
`}, "gcc -O1 -static -o out i.c", "gcc -O1 -no-pie -o dynamic i.c", "strip -o stripped out")
	for _, file := range []string{"out", "dynamic"} {
		names := named(symbolsOf(t, openFile(t, dir, file)))
		if _, ok := names["work@plt"]; !ok {
			assert.Contains(t, names, "pick@plt", file)
		}
		assert.Contains(t, names, "fast", file)
	}
	found := false
	for name := range named(symbolsOf(t, openFile(t, dir, "stripped"))) {
		found = found || regexp.MustCompile(`^\*ABS\*\+0x[0-9a-f]+@plt$`).MatchString(name)
	}
	assert.True(t, found, "a stub of a stripped file says where its resolver is")
}
