package cli

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/cmd/flametel/internal/golden"
)

func TestSymbolsOfAFile(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := flametel(t, "samples", "symbols", exe)
	p.run()
	assert.Empty(t, p.stderr.String())
	assert.Contains(t, p.stdout.String(), "line table of go")
	help := flametel(t, "samples", "symbols", "--help")
	assert.Zero(t, help.run())
	golden.Check(t, "help_symbols.txt", help.stdout.String())
}

func TestSymbolsRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{nil, 2, "flametel: give the name of a file, or --pid for a process\nflametel symbols --help says how to use it\n"},
		{[]string{"prog", "main", "0x1g"}, 2, "flametel: address \"main\": must be a hexadecimal number\nflametel: address \"0x1g\": must be a hexadecimal number\nflametel symbols --help says how to use it\n"},
		{[]string{"-p", "1,2"}, 2, "flametel: --pid is possible once\nflametel symbols --help says how to use it\n"},
		{[]string{"--demangle", "fancy", "prog"}, 2, "flametel: --demangle \"fancy\" is not one of simple, full, none\nflametel symbols --help says how to use it\n"},
		{[]string{"/no/such/file"}, 1, "flametel: stat /no/such/file: no such file or directory\n"},
	} {
		p := flametel(t, "samples", append([]string{"symbols"}, test.args...)...)
		assert.Equal(t, test.code, p.run())
		assert.Equal(t, test.want, p.stderr.String())
	}
}
