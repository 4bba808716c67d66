package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStrip(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"comments and space", "// one\nlet  value = 1; /* two */ value++;\n", "let a=1;a++;\n"},
		{"strings stay", `f('a  // b', "c", ` + "`d  ${ value  + 1 } e`" + `);`, "a('a  // b',\"c\",`d  ${b+1} e`);\n"},
		{"expressions stay", `x = y.replace(/[/ ]+ \/"/g, '') / 2 / z;`, `a=b.replace(/[/ ]+ \/"/g,'')/2/c;` + "\n"},
		{"properties and keys stay", "const o = { key: key, other, ...rest }; o.key = { other }.other;", "let a={key:c,other:b,...d};a.key={other:b}.other;\n"},
		{"patterns", "const { key, other: own = 1, last = 2 } = o;", "let{key:a,other:d=1,last:b=2}=c;\n"},
		{"declarations join", "const one = 1;\nlet two = 2;\none = two;", "let a=1,b=2;a=b;\n"},
		{"semicolon before brace", "if (one) { two(); }", "if(a){b()}\n"},
		{"line break that may end a statement", "one = two\nthree()", "a=c\nb()\n"},
		{"no end of CDATA", "a[b[c]] > d", "a[b[c]] >d\n"},
		{"signs", "a + +b - -c", "a+ +b- -c\n"},
		{"globals stay", "Math.max(one, two)", "Math.max(a,b)\n"},
		{"blocks are no objects", "if (one) { two, three; }", "if(a){c,b}\n"},
		{"truth", "return true ? false : null", "return !0?!1:null\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Strip(tt.in, "Math")
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestLocalNamesAreShared(t *testing.T) {
	got, err := Strip("(() => { const top = 1; function f(one) { return one + top; } function g(two) { return two + top; } })()", "")
	require.NoError(t, err)
	assert.Equal(t, "(()=>{let a=1;function c(b){return b+a}function d(b){return b+a}})()\n", got)
}

func TestStripRefusesWhatItCannotRead(t *testing.T) {
	for _, in := range []string{"'open", "`open", "/* open", "x = /open", "f(", "f)", "let o = { f() { } };"} {
		_, err := Strip(in, "")
		assert.Error(t, err, in)
	}
}
