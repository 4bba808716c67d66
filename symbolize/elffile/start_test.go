package elffile

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/internal/fixture"
)

func TestStartAndMainOfStrippedPrograms(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"", "-no-pie -fno-pie", "-Wl,-z,now", "-fcf-protection=full", "-O2 -Wl,-z,noseparate-code", "-fno-asynchronous-unwind-tables"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := fixture.Build(t, map[string]string{"a.c": "#include <stdio.h>\nint main(int n, char **v) { return puts(v[n - 1]) + printf(\"%d\", n); }\n"},
				"gcc "+flags+" -o whole a.c", "strip -o stripped whole")
			want := map[string]elf.Symbol{}
			e, err := elf.Open(filepath.Join(dir, "whole"))
			require.NoError(t, err)
			defer e.Close()
			symbols, err := e.Symbols()
			require.NoError(t, err)
			for _, s := range symbols {
				want[s.Name] = s
			}
			s := symbolsOf(t, openFile(t, dir, "stripped"))
			main := want["main"]
			assert.Equal(t, "_start", nameOf(s, addr.File(want["_start"].Value)))
			assert.Equal(t, "_start", nameOf(s, addr.File(want["_start"].Value+want["_start"].Size-1)))
			assert.Empty(t, nameOf(s, addr.File(want["_start"].Value+want["_start"].Size)))
			if flags == "-fno-asynchronous-unwind-tables" {
				assert.Empty(t, nameOf(s, addr.File(main.Value)), "nothing says where it ends")
				return
			}
			for _, at := range []uint64{main.Value, main.Value + main.Size - 1} {
				assert.Equal(t, "main", nameOf(s, addr.File(at)))
			}
			assert.Empty(t, nameOf(s, addr.File(main.Value+main.Size)))
			assert.NotEqual(t, "main", nameOf(s, addr.File(main.Value-1)))
		})
	}
}

func TestOtherEntryPointsAreNotStart(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"a.c": "int main(void) { return 1; }\nvoid other(void) { __builtin_trap(); }\n",
		// The code of _start, but what it calls is of the program's own.
		"fake.s": "	.globl _start, main\n_start:	xor %ebp,%ebp\n	mov %rdx,%r9\n	pop %rsi\n	mov %rsp,%rdx\n	and $-16,%rsp\n	push %rax\n	push %rsp\n	xor %r8d,%r8d\n	xor %ecx,%ecx\n	lea main(%rip),%rdi\n	call *begin(%rip)\n	hlt\nmain:	.cfi_startproc\n	ret\n	.cfi_endproc\n	.data\nbegin:	.quad main\n",
	}
	dir := fixture.Build(t, sources, "gcc -o other a.c -Wl,-e,other", "strip other", "gcc -nostdlib -o fake fake.s", "strip fake")
	for _, name := range []string{"other", "fake"} {
		names := named(symbolsOf(t, openFile(t, dir, name)))
		assert.NotContains(t, names, "_start", name)
		assert.NotContains(t, names, "main", name)
	}
}

func TestSymbolsWinOverStart(t *testing.T) {
	t.Parallel()
	all := []candidate{{value: 0x100, size: 0x20, name: 1}, {value: 0x200, rank: rankUnsized, size: 0x100, name: 1}}
	for at, want := range map[uint64]bool{0xff: false, 0x100: true, 0x110: true, 0x120: false, 0x200: true, 0x210: false} {
		assert.Equal(t, want, covered(all, at), "%#x", at)
	}
}
