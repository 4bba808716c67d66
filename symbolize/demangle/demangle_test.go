package demangle

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct{ linker, simple, full string }{
		{"main", "main", "main"},
		{"", "", ""},
		{"_Zonk", "_Zonk", "_Zonk"},
		{"_Release", "_Release", "_Release"},
		{"foo.cold", "foo.cold", "foo.cold"},
		{"_Z3fooi", "foo", "foo(int)"},
		{"_Z3fooi.cold", "foo.cold", "foo(int) [clone .cold]"},
		{"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back", "std::vector<int, std::allocator<int> >::push_back(int const&)"},
		{"_ZN3appplERKNS_1AES2_", "app::operator+", "app::operator+(app::A const&, app::A const&)"},
		{"_ZN12_GLOBAL__N_13runEv", "(anonymous namespace)::run", "(anonymous namespace)::run()"},
		{"_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write"},
		{"_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234", "core::fmt::write", "core::fmt::write"},
		{"_ZN55_$LT$$u5b$u8$u3b$$u20$4$u5d$$u20$as$u20$m..deep..Tr$GT$2go17hfe77c7034065bec4E", "<[u8; 4] as m::deep::Tr>::go", "<[u8; 4] as m::deep::Tr>::go"},
		{"_RNvCs1234_7mycrate3foo", "mycrate::foo", "mycrate::foo"},
		{"_RNvMC3stdINtC3std3VeclE4push", "<std::Vec>::push", "<std::Vec<i32>>::push"},
		{"_RINvCs1234_7mycrate3foolE", "mycrate::foo", "mycrate::foo::<i32>"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.simple, Name(tt.linker, Simple), tt.linker)
		assert.Equal(t, tt.full, Name(tt.linker, Full), tt.linker)
		assert.Equal(t, tt.linker, Name(tt.linker, None))
	}
}

func TestQualified(t *testing.T) {
	t.Parallel()
	tests := []struct{ scope, name, simple string }{
		{"", "main", "main"},
		{"", "", ""},
		{"std", "max<int>", "std::max"},
		{"std::vector<int, std::allocator<int> >", "vector", "std::vector::vector"},
		{"std::map<int, std::pair<a, b>>", "~map", "std::map::~map"},
		{"(anonymous namespace)", "twice<long int>", "(anonymous namespace)::twice"},
		{"a", "operator<", "a::operator<"},
		{"a", "operator< <int>", "a::operator<"},
		{"a", "operator<<int>", "a::operator<"},
		{"a", "operator<<", "a::operator<<"},
		{"a", "operator<< <int>", "a::operator<<"},
		{"a", "operator<<<int>", "a::operator<<"},
		{"a", "operator<=><int>", "a::operator<=>"},
		{"a", "operator->", "a::operator->"},
		{"a", "operator->*<b<c>>", "a::operator->*"},
		{"a", "operator>>=<int>", "a::operator>>="},
		{"a<int>", "operator()<int>", "a::operator()"},
		{"a", "operator std::vector<long>", "a::operator std::vector"},
		{"a<&b::operator->>", "c", "a::c"},
		{"a<&b::operator< >", "c", "a::c"},
		{"f", "my_operator<int>", "f::my_operator"},
		{"f", "operators<int>", "f::operators"},
		{"work::<lambda(auto:1)>", "operator()<int>", "work::{lambda}::operator()"},
		{"", "a<b", "a<b"},
		{"", "a>b", "a>b"},
		{"", "<>", "{lambda}"},
	}
	for _, tt := range tests {
		full := tt.name
		if tt.scope != "" {
			full = tt.scope + "::" + tt.name
		}
		assert.Equal(t, tt.simple, Qualified(tt.scope, tt.name, Simple), full)
		assert.Equal(t, full, Qualified(tt.scope, tt.name, Full))
		assert.Equal(t, tt.name, Qualified(tt.scope, tt.name, None))
	}
	long := strings.Repeat("a<", MaxName)
	assert.Equal(t, Cut(long), Qualified("", long, Simple))
}

func TestRust(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"_RNvCs1234_7mycrate3foo":                                                             true,
		"_ZN4core3fmt5write17h0123456789abcdefE":                                              true,
		"_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234":                                    true,
		"_ZN55_$LT$$u5b$u8$u3b$$u20$4$u5d$$u20$as$u20$m..deep..Tr$GT$2go17hfe77c7034065bec4E": true,
		"_ZN4core3fmt5write17h0123456789abcdegE":                                              false,
		"_ZN12_GLOBAL__N_13runEv":                                                             false,
		"_ZN3app3hotIiEEiT_":                                                                  false,
		"_Release":                                                                            false,
		"_R":                                                                                  false,
		"":                                                                                    false,
		"_ZN17h0123456789abcdefE":                                                             true,
		"_ZNSt6vectorIiSaIiEE9push_backERKi":                                                  false,
		"_ZN3foo17h0123456789abcdefEv":                                                        false,
	} {
		assert.Equal(t, want, Rust(name), name)
	}
}

// doubling is a name each of whose n parts is twice as long as the one before,
// by substitutions: a function of pairs of pairs of ints.
func doubling(n int) string {
	s := "_Z1f1PIiiE"
	for i := range n {
		sub := "S0_"
		if i > 0 {
			sub = "S" + strings.ToUpper(base36(i)) + "_"
		}
		s += "S_I" + sub + sub + "E"
	}
	return s
}

func base36(n int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	if n < 36 {
		return digits[n : n+1]
	}
	return base36(n/36) + digits[n%36:n%36+1]
}

func TestHostileNamesAreBounded(t *testing.T) {
	t.Parallel()
	hostile := map[string]string{
		"doubling":      doubling(200),
		"pointers":      "_Z1f" + strings.Repeat("P", 3000) + "i",
		"nesting":       "_Z1f" + strings.Repeat("N1aI", 900) + "i" + strings.Repeat("EE", 900),
		"functions":     "_Z1f" + strings.Repeat("PF", 1500) + "v" + strings.Repeat("vE", 1500),
		"rust":          "_RNvC1a" + strings.Repeat("1b", 100),
		"rust refs":     "_RI" + strings.Repeat("NvC1a1b", 1) + strings.Repeat("R", 3000) + "lE",
		"rust backrefs": "_RINvC1a1b" + strings.Repeat("TB3_B3_E", 300) + "E",
		"long":          "_Z" + strings.Repeat("9", 100000),
		"long text":     strings.Repeat("ü", 100000),
		"packs":         "_Z1fI" + strings.Repeat("J", 1000) + strings.Repeat("E", 1000) + "EvDpT_",
	}
	for name, linker := range hostile {
		for _, style := range []Style{Simple, Full} {
			start := time.Now()
			got := Name(linker, style)
			assert.LessOrEqual(t, len(got), MaxName, name)
			assert.True(t, utf8.ValidString(got), name)
			assert.Less(t, time.Since(start), 5*time.Second, name) // milliseconds if bounded, hours if not
		}
	}
	assert.Equal(t, "f", Name(doubling(200), Simple))
	assert.Equal(t, doubling(200), Name(doubling(200), Full), "the linker name stays if the source form is too long")
	assert.True(t, strings.HasSuffix(Name(strings.Repeat("ü", MaxName), Simple), "ü…"))
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"_ZNSt6vectorIiSaIiEE9push_backERKi", "_RINvCs1234_7mycrate3foolE", "_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234", "___Z1f_block_invoke", doubling(5)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, linker string) {
		for _, style := range []Style{Simple, Full, None} {
			if got := Name(linker, style); len(got) > MaxName || got == "" && linker != "" {
				t.Fatalf("%q gives %d bytes", linker, len(got))
			}
			if got := Qualified("", linker, style); len(got) > max(len(linker), len("{lambda}")*(strings.Count(linker, "<"))+len(linker)) || got == "" && linker != "" {
				t.Fatalf("%q becomes %q", linker, got)
			}
		}
	})
}
