package unwind

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

// installSource installs another context as the unwinder of libgcc does. search is
// called before, install overwrites the frame.
const installSource = `
__attribute__((noinline)) int search(void *p) { __asm__ volatile("nop" ::: "memory"); return p != 0; }
__attribute__((noinline)) long install(void *p) { __asm__ volatile("nop" ::: "memory"); return (long)p; }
__attribute__((noinline)) void hook(void *a, void *b) { __asm__ volatile("" ::"r"(a), "r"(b)); }
int resume(void *p, void *handler)
{
	__builtin_unwind_init();
	if (!search(p))
		return 1;
	long offset = install(p);
	hook(p, handler);
	__builtin_eh_return(offset, handler);
}
`

// returnsOf returns, by the function that is called, the row for the return address
// of a call.
func returnsOf(t *testing.T, path string, m machine, caller string, callees ...string) map[string]string {
	t.Helper()
	table, f := compileFile(t, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	text, ok := f.Section(".text")
	require.True(t, ok)
	out := map[string]string{}
	for at := uint64(symbolAt(t, f, caller)); at < uint64(text.Address)+text.Size; at++ {
		size, target, ok := m.call(b[uint64(text.Offset)+at-uint64(text.Address):], at)
		for _, name := range callees {
			if ok && target == uint64(symbolAt(t, f, name)) {
				out[name] = table.Lookup(addr.File(at) + addr.File(size) - 1).String()
			}
		}
	}
	return out
}

func TestInstalledContext(t *testing.T) {
	t.Parallel()
	for _, cc := range []string{"gcc", "gcc -fcf-protection", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-gcc -mbranch-protection=standard"} {
		t.Run(cc, func(t *testing.T) {
			t.Parallel()
			m := amd64
			if strings.HasPrefix(cc, "aarch64") {
				m = arm64
			}
			dir := build(t, map[string]string{"a.c": installSource},
				append(strings.Fields(cc), "-O2", "-nostdlib", "-shared", "-fvisibility=hidden", "-o", "a", "a.c"))
			got := returnsOf(t, filepath.Join(dir, "a"), m, "resume", "search", "install", "hook")
			assert.Regexp(t, "^cfa=", got["search"])
			assert.Equal(t, stop(ReasonInstall).String(), got["install"])
			assert.Equal(t, stop(ReasonInstall).String(), got["hook"])
		})
	}
}

// A function that saves these registers for other reasons is not touched.
func TestSavedDataRegisters(t *testing.T) {
	t.Parallel()
	dir := build(t, map[string]string{"a.c": `
void other(void);
__attribute__((no_caller_saved_registers)) void keeps(void) { other(); }
`}, words("gcc", "-O2", "-mgeneral-regs-only", "-shared", "-fPIC", "-o", "a", "a.c"))
	for _, rule := range rulesOf(t, filepath.Join(dir, "a"), "keeps") {
		assert.Regexp(t, "^cfa=", rule)
	}
}

// The library of the host.
func TestInstalledContextOfLibgcc(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("gcc", "-print-file-name=libgcc_s.so.1").Output()
	require.NoError(t, err)
	path := strings.TrimSpace(string(out))
	for _, name := range []string{"_Unwind_RaiseException", "_Unwind_ForcedUnwind", "_Unwind_Resume", "_Unwind_Resume_or_Rethrow"} {
		rules := rulesOf(t, path, name)
		assert.Contains(t, rules, stop(ReasonInstall).String(), name)
		assert.Greater(t, len(rules), 3, name) // not all of it
	}
}
