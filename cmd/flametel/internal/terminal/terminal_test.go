package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"plain", "std::vector<int>::push_back", "std::vector<int>::push_back"},
		{"letters of all scripts", "größe_函数 ñ", "größe_函数 ñ"},
		{"escape sequence", "\x1b]0;title\x07", `\x1b]0;title\a`},
		{"clear screen in eight bits", "\u009b2J", `\u009b2J`},
		{"a byte of it alone", "\x9b2J", `\x9b2J`},
		{"small byte", "a\x00b\nc\rd\x7f", `a\x00b\nc\rd\x7f`},
		{"right to left override", "evil\u202egpj.exe", `evil\u202egpj.exe`},
		{"isolate and marks", "\u2066x\u2069\u200f", `\u2066x\u2069\u200f`},
		{"zero width", "a\u200bb\ufeff", `a\u200bb\ufeff`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"cut rune", "a\xe2\x82", `a\xe2\x82`},
		{"real replacement character", "\ufffd", "\ufffd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, Escape(test.in))
		})
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "short", Clip("short", 5))
	assert.Equal(t, "long…", Clip("longer", 5))
	assert.Equal(t, "函数…", Clip("函数函数", 3))
	assert.Equal(t, `\x1b…`, Clip(strings.Repeat("\x1b", 1<<20), 5))
	assert.Empty(t, Clip("", 5))
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "main", "\x1b[2J", "\u202e", "\xff\xfe", "a\u0300"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Escape(s)
		if !utf8.ValidString(out) {
			t.Fatalf("not UTF-8: %q", out)
		}
		if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("not printable at %d: %q", i, out)
		}
		if n := utf8.RuneCountInString(Clip(s, 7)); n > 7 {
			t.Fatalf("%d characters, 7 are allowed", n)
		}
	})
}

func TestProgressLineGivesWayToMessages(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := NewMessages(&out, 20)
	m.Progress("1 s")
	m.Progress("a line that is longer than the terminal is wide")
	m.Printf("warning")
	m.Printf("another\n")
	m.Progress("3 s")
	m.Done()
	m.Done()
	assert.Equal(t, clearLine+"1 s"+
		clearLine+"a line that is lon…"+
		clearLine+"warning\n"+"another\n"+
		clearLine+"3 s"+clearLine, out.String())
}

func TestProgressWithoutTerminalIsLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := NewMessages(&out, 0)
	m.Progress("10 s")
	m.Done()
	assert.Equal(t, "10 s\n", out.String())
}
