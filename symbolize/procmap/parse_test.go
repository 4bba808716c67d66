package procmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line string
		want Mapping
	}{
		"file": {
			"7f0c8d600000-7f0c8d756000 r-xp 00026000 fe:01 1835045                    /usr/lib/libc.so.6",
			Mapping{Start: 0x7f0c8d600000, Limit: 0x7f0c8d756000, Offset: 0x26000, Dev: 0xfe01, Inode: 1835045, Path: "/usr/lib/libc.so.6", Executable: true},
		},
		"minor above one byte": {
			"400000-401000 r-xp 00000000 103:10001 7 /a",
			Mapping{Start: 0x400000, Limit: 0x401000, Dev: 0x10010301, Inode: 7, Path: "/a", Executable: true},
		},
		"deleted": {
			"400000-401000 r-xp 00001000 00:1f 9 /tmp/a b (deleted)",
			Mapping{Start: 0x400000, Limit: 0x401000, Offset: 0x1000, Dev: 0x1f, Inode: 9, Path: "/tmp/a b", Deleted: true, Executable: true},
		},
		"memfd": {
			"400000-401000 rwxp 00000000 00:01 9 /memfd:x y (deleted)",
			Mapping{Start: 0x400000, Limit: 0x401000, Dev: 1, Inode: 9, Path: "/memfd:x y", Deleted: true, Executable: true},
		},
		"newline and backslash in the name": {
			`400000-401000 r-xp 00000000 00:01 9 /a\012b\040c\\ü`,
			Mapping{Start: 0x400000, Limit: 0x401000, Dev: 1, Inode: 9, Path: "/a\nb\\040c\\\\ü", Executable: true},
		},
		"bytes that are no UTF-8": {
			"400000-401000 r-xp 00000000 00:01 9 /a\xff",
			Mapping{Start: 0x400000, Limit: 0x401000, Dev: 1, Inode: 9, Path: "/a\xff", Executable: true},
		},
		"anonymous": {
			"400000-401000 rwxp 00000000 00:00 0 ",
			Mapping{Start: 0x400000, Limit: 0x401000, Executable: true},
		},
		"anonymous without a space at the end": {
			"400000-401000 rwxp 00000000 00:00 0",
			Mapping{Start: 0x400000, Limit: 0x401000, Executable: true},
		},
		"named anonymous memory is never deleted": {
			"400000-401000 rwxp 00000000 00:00 0 [anon:x (deleted)]",
			Mapping{Start: 0x400000, Limit: 0x401000, Path: "[anon:x (deleted)]", Executable: true},
		},
		"vsyscall at the top": {
			"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
			Mapping{Start: 0xffffffffff600000, Limit: 0xffffffffff601000, Path: "[vsyscall]", Executable: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(strings.NewReader(tt.line + "\n"))
			require.NoError(t, err)
			assert.Equal(t, []Mapping{tt.want}, got)
		})
	}
}

func TestParseLeavesOutWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	good := "400000-401000 r-xp 00000000 00:01 9 /a\n"
	for _, bad := range []string{
		"", "\n", "400000", "400000-", "400000-401000", "400000-401000 r-xp", "400000-401000 r-xp 0",
		"400000-401000 r-xp 0 00:01", "400000-401000 r-xp 0 00:01 x", "400000-401000 r-xp 0 00:01 /a",
		"401000-400000 r-xp 00000000 00:01 9 /empty range",
		"400000-400000 r-xp 00000000 00:01 9 /empty range",
		"10000000000000000-20000000000000000 r-xp 00000000 00:01 9 /too wide",
		"400000-401000 r-xp 00000000 1000000000:01 9 /device too big",
		"400000-401000 r-xp 00000000 00:01 99999999999999999999 /inode too big",
		"400000-401000 r--p 00000000 00:01 9 /not code",
		"Name:	cat",
		strings.Repeat("x", 3*maxLine),
		"400000-401000 r-xp 00000000 00:01 9 /" + strings.Repeat("x", maxLine),
	} {
		got, err := Parse(strings.NewReader(good + bad + "\n" + good))
		require.NoError(t, err)
		assert.Len(t, got, 2, "%.60q", bad)
	}
}

func TestParseAllTakesDataToo(t *testing.T) {
	t.Parallel()
	text := "400000-401000 r--p 00000000 00:01 9 /a\n401000-402000 r-xp 00001000 00:01 9 /a\n"
	got, err := ParseAll(strings.NewReader(text))
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.False(t, got[0].Executable)
	assert.True(t, got[1].Executable)
}

func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for i := range MaxMappings + 1 {
		fmt.Fprintf(&b, "%x-%x r-xp 00000000 00:01 9 /a\n", (i+1)<<12, (i+2)<<12)
	}
	got, err := Parse(&b)
	require.ErrorIs(t, err, ErrTooMany)
	assert.Len(t, got, MaxMappings)
}

func TestParseReturnsWhatCameBeforeAnError(t *testing.T) {
	t.Parallel()
	bad := errors.New("gone")
	r := io.MultiReader(strings.NewReader("400000-401000 r-xp 00000000 00:01 9 /a\n"), iotest.ErrReader(bad))
	got, err := Parse(r)
	require.ErrorIs(t, err, bad)
	assert.Len(t, got, 1)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("7f0c8d600000-7f0c8d756000 r-xp 00026000 fe:01 1835045  /usr/lib/libc.so.6\n"))
	f.Add([]byte("400000-401000 rwxp 00000000 00:01 9 /memfd:x\\012y (deleted)\n400000-4010"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseAll(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		code, _ := Parse(bytes.NewReader(text))
		n := 0
		for _, m := range all {
			if m.Start >= m.Limit {
				t.Fatalf("empty mapping %+v", m)
			}
			if m.Executable {
				n++
			}
		}
		if n != len(code) {
			t.Fatalf("%d executable of all, %d of code", n, len(code))
		}
	})
}
