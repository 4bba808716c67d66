// Package demangle turns linker names of C++ and Rust into source form. Any
// user can run a program with any name in it, so the length of what is parsed
// and of what comes out is bounded.
package demangle

import (
	"strings"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// Style says how much of a name is shown.
type Style uint8

// The styles; Simple is the zero value and the default.
const (
	// Simple leaves out arguments, template arguments and hashes.
	Simple Style = iota
	// Full shows all that the linker name holds.
	Full
	// None shows the linker name itself.
	None
)

const (
	// MaxName bounds names in and out. Longer linker names are not demangled
	// and, as those whose source form is longer, shown cut.
	MaxName = 1 << maxNameShift
	// maxNameShift is the same for the demangler: 4096 bytes.
	maxNameShift = 12
)

// Name returns the source form of a linker name, or the name itself if it is
// none of C++ or Rust, cut to MaxName bytes.
func Name(linker string, style Style) string {
	if style == None || len(linker) > MaxName || !mangled(linker) {
		return Cut(linker)
	}
	base, suffix := linker, ""
	options := []demangle.Option{demangle.MaxLength(maxNameShift)}
	if style == Simple {
		base, suffix = cutSuffix(linker)
		options = append(options, demangle.NoParams, demangle.NoTemplateParams, demangle.NoEnclosingParams, demangle.NoABITags)
	}
	name, ok := parse(base, options)
	if !ok || name == "" || len(name)+len(suffix) >= MaxName {
		return Cut(linker)
	}
	if style == Simple && strings.HasPrefix(base, "_R") {
		name = emptyGenerics.Replace(name)
	}
	return name + suffix
}

// Qualified returns the source form of a function that has no linker name but
// is known by its name in the source and by what that is in, as debug
// information tells them: "operator<< <int>" in "app::Set<int>". Scope may be "".
func Qualified(scope, name string, style Style) string {
	if style == None {
		return Cut(name)
	}
	if scope != "" {
		name = scope + "::" + name
	}
	if style == Simple && len(name) <= MaxName {
		name = noTemplateArguments(name)
	}
	return Cut(name)
}

// emptyGenerics removes what the demangler leaves of Rust's generic arguments.
var emptyGenerics = strings.NewReplacer("::<>", "", "<>", "")

// parse demangles. A name that the demangler cannot cope with, in whatever way,
// is a name that is not demangled.
func parse(name string, options []demangle.Option) (out string, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = "", false
		}
	}()
	out, err := demangle.ToString(name, options...)
	return out, err == nil
}

// mangled tells the prefixes of the Itanium C++ ABI (also used by old Rust) and
// of Rust's v0 mangling.
func mangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "___Z")
}

// Rust tells linker names that only Rust compilers make: those of the v0
// mangling, and legacy ones, which end in a part of "h" and 16 hexadecimal
// digits.
func Rust(linker string) bool {
	if rest, ok := strings.CutPrefix(linker, "_R"); ok {
		return len(rest) > 1 && (rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= '0' && rest[0] <= '9')
	}
	return legacyRustEnd(linker) > 0
}

// legacyRustEnd returns where a legacy name of Rust ends, behind its part of "h"
// and 16 hexadecimal digits; 0 if the name is none.
func legacyRustEnd(linker string) int {
	const mark, digits = "17h", 16
	i := strings.LastIndex(linker, mark)
	end := i + len(mark) + digits + 1
	if i < 0 || end > len(linker) || linker[end-1] != 'E' || !strings.HasPrefix(linker, "_ZN") {
		return 0
	}
	if end < len(linker) && !strings.ContainsRune(".$@", rune(linker[end])) {
		return 0 // arguments follow: C++ with a function of that name
	}
	if strings.Trim(linker[i+len(mark):end-1], "0123456789abcdef") != "" {
		return 0
	}
	return end
}

// cutSuffix takes off what compilers append to the name of a function that
// they split or copied, such as ".cold" or ".part.0"; it stays in the result,
// but for the hashes that LLVM adds.
func cutSuffix(linker string) (base, suffix string) {
	i := strings.IndexByte(linker, '.')
	if end := legacyRustEnd(linker); end > 0 {
		i = end // such a name has ".." in it where others have "::"
	}
	if i < 0 || i == len(linker) {
		return linker, ""
	}
	base, suffix = linker[:i], linker[i:]
	if j := strings.Index(suffix, ".llvm."); j >= 0 {
		suffix = suffix[:j]
	}
	return base, suffix
}

// Cut shortens a name to MaxName bytes, ending in an ellipsis, without
// splitting a character.
func Cut(name string) string {
	if len(name) <= MaxName {
		return name
	}
	end := MaxName - len("…")
	for i := 0; i < utf8.UTFMax && !utf8.RuneStart(name[end]); i++ {
		end--
	}
	return name[:end] + "…"
}
