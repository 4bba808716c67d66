package kernel

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/symbolize/addr"
)

func parse(t testing.TB, text string) *Table {
	t.Helper()
	table, err := Parse(strings.NewReader(text))
	require.NoError(t, err)
	return table
}

// nameOf returns the function and its module at an address, "" for none.
func nameOf(t *Table, a addr.Virtual) string {
	i, ok := t.Lookup(a)
	if !ok {
		return ""
	}
	return t.Name(i) + t.Module(i)
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want map[addr.Virtual]string
	}{
		"padding belongs to its function": {
			"ffffffff81000000 T before\nffffffff810000f0 T __pfx_foo\nffffffff81000100 T foo\nffffffff81000200 t __cfi_bar\nffffffff81000210 t bar\nffffffff81000300 T _etext\n",
			map[addr.Virtual]string{
				0xffffffff810000ef: "before", 0xffffffff810000f0: "foo", 0xffffffff810000ff: "foo",
				0xffffffff81000100: "foo", 0xffffffff81000101: "foo", 0xffffffff81000200: "bar",
				0xffffffff810002ff: "bar", 0xffffffff81000300: "",
			},
		},
		"return address behind the last call of a function": {
			"ffffffff81000000 T do_exit_like\nffffffff81000100 T next\nffffffff81000200 T _etext\n",
			map[addr.Virtual]string{0xffffffff81000100 - 1: "do_exit_like", 0xffffffff81000100: "next"},
		},
		"suffixes of compilers stay": {
			"ffffffff81000000 t a.isra.0\nffffffff81000100 t a.cold\nffffffff81000200 T _etext\n",
			map[addr.Virtual]string{0xffffffff81000000: "a.isra.0", 0xffffffff81000100: "a.cold"},
		},
		"T over t over W, marks of sections never": {
			"ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000000 t blake2s_compress_generic\nffffffff81000000 W blake2s_compress\n" +
				"ffffffff81000100 W zw\nffffffff81000100 t zt\nffffffff81000100 T __zT\nffffffff81000200 T _zu\nffffffff81000200 T zy\nffffffff81000200 T zx\nffffffff81000300 T __x_text_end\n",
			map[addr.Virtual]string{
				0xffffffff81000000: "blake2s_compress_generic", 0xffffffff81000100: "__zT",
				0xffffffff81000200: "zx", 0xffffffff81000300: "",
			},
		},
		"labels inside of functions end nothing": {
			"ffffffff81000000 T memcpy\nffffffff81000010 t .Lloop\nffffffff81000020 t .E_copy\nffffffff81000030 t $x\nffffffff81000100 T _etext\n",
			map[addr.Virtual]string{0xffffffff81000010: "memcpy", 0xffffffff810000ff: "memcpy"},
		},
		"data ends a function": {
			"ffffffff81000000 T f\nffffffff81000100 D data\nffffffff81000200 r ro\n",
			map[addr.Virtual]string{0xffffffff810000ff: "f", 0xffffffff81000100: "", 0xffffffff81000200: ""},
		},
		"modules": {
			"ffffffff81000000 T f\nffffffff81000100 T _etext\n" +
				"ffffffffc0000000 t init\t[modA]\nffffffffc0000100 t last\t[modA]\nffffffffc0100000 t init\t[modB]\nffffffffc0101000 t bpf_prog_1234\t[bpf]\n",
			map[addr.Virtual]string{
				0xffffffffc0000000: "init[modA]", 0xffffffffc0000100: "last[modA]", 0xffffffffc0000fff: "last[modA]",
				0xffffffffc0100000: "init[modB]", 0xffffffffc0101000: "bpf_prog_1234[bpf]",
				0xffffffffc0080000: "", // between modules
				0xffffffffc0110000: "", // behind the last
				0xffffffff90000000: "", // between the kernel and its modules
				0xffffffff80ffffff: "",
				0xffffffffffffffff: "",
				0:                  "",
			},
		},
		"a hole in the list": {
			"ffffffff81000000 T f\nffffffff91000000 T g\n",
			map[addr.Virtual]string{0xffffffff81000fff: "f", 0xffffffff90000000: ""},
		},
		"at the top": {
			"fffffffffffffff0 T f\n",
			map[addr.Virtual]string{0xfffffffffffffff1: "f", 0xffffffffffffffef: ""},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := strings.SplitAfter(strings.TrimSuffix(tt.text, "\n"), "\n")
			for seed := range uint64(10) {
				rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
				text := ""
				for _, l := range lines {
					text += strings.TrimSuffix(l, "\n") + "\n"
				}
				table := parse(t, text)
				assert.False(t, table.Hidden())
				for a, want := range tt.want {
					assert.Equal(t, want, nameOf(table, a), "%#x in\n%s", a, text)
				}
			}
		})
	}
}

func TestHiddenAddresses(t *testing.T) {
	t.Parallel()
	hidden := "0000000000000000 A fixed_percpu_data\n0000000000000000 T _stext\n0000000000000000 t f\t[m]\n"
	assert.True(t, parse(t, hidden).Hidden())
	assert.True(t, parse(t, "").Hidden())
	assert.Zero(t, parse(t, hidden).Len())
	shown := parse(t, "0000000000000000 A fixed_percpu_data\n0000000000001000 A cpu_tss\nffffffff81000000 T f\n")
	assert.False(t, shown.Hidden())
	assert.Equal(t, 1, shown.Len())
}

func TestRanges(t *testing.T) {
	t.Parallel()
	table := parse(t, "ffffffff81000000 T idle\nffffffff81000100 t idle\nffffffff81000200 T busy\nffffffff81000300 T _etext\n")
	assert.Equal(t, [][2]addr.Virtual{{0xffffffff81000000, 0xffffffff81000100}, {0xffffffff81000100, 0xffffffff81000200}}, table.Ranges("idle", "none"))
	assert.Nil(t, table.Ranges("none"))
	start, limit := table.Text()
	assert.Equal(t, [2]addr.Virtual{0xffffffff81000000, 0xffffffff81000300}, [2]addr.Virtual{start, limit})
}

func TestDamagedLines(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "x", "ffffffff81000010", "ffffffff81000010 ", "ffffffff81000010 T", "ffffffff81000010 T ", "ffffffff81000010Tx",
		"fffffffff81000010 T seventeen", " ffffffff81000010 T x", "ffffffff81000010 TT x",
		strings.Repeat("f", 70<<10), "ffffffff81000010 T " + strings.Repeat("x", maxLine),
	} {
		table := parse(t, "ffffffff81000000 T a\n"+bad+"\nffffffff81000100 T _etext\nffffffff81000200 T é [m")
		assert.Equal(t, "a", nameOf(table, 0xffffffff81000010), "%.40q", bad)
		assert.Equal(t, "é [m", nameOf(table, 0xffffffff81000200), "%.40q", bad)
	}
}

func TestReadErrorIsNoEmptyTable(t *testing.T) {
	t.Parallel()
	bad := errors.New("no")
	_, err := Parse(io.MultiReader(strings.NewReader("ffffffff81000000 T a\n"), iotest.ErrReader(bad)))
	require.ErrorIs(t, err, bad)
}

// TestThisKernel parses the kernel that runs the test, if it shows addresses.
func TestThisKernel(t *testing.T) {
	t.Parallel()
	f, err := os.Open("/proc/kallsyms")
	require.NoError(t, err)
	defer f.Close()
	table, err := Parse(f)
	require.NoError(t, err)
	if table.Hidden() {
		assert.Zero(t, table.Len())
		return
	}
	assert.Greater(t, table.Len(), 10_000)
	assert.Less(t, table.Bytes(), int64(16<<20))
	for i := range table.Len() {
		name := table.Name(i)
		assert.False(t, strings.HasPrefix(name, "__pfx_"), name)
		start, limit := table.Range(i)
		require.Less(t, start, limit, name)
	}
	assert.NotEmpty(t, table.Ranges("schedule"))
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("ffffffff81000000 T _text\nffffffff81000010 T __pfx_a\nffffffff81000020 T a\nffffffff81000020 W b\t[m]\n0 t z\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Parse(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		last := addr.Virtual(0)
		for i := range table.Len() {
			start, limit := table.Range(i)
			if start < last || limit <= start {
				t.Fatalf("range %#x-%#x after %#x", start, limit, last)
			}
			if got, ok := table.Lookup(limit - 1); !ok || got != i {
				t.Fatalf("lookup misses %#x-%#x", start, limit)
			}
			if table.Name(i) == "" {
				t.Fatal("empty name")
			}
			last = limit
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var table *Table
	for b.Loop() {
		if table, err = Parse(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(table.Len()), "functions")
	b.ReportMetric(float64(table.Bytes()), "held-B")
}
