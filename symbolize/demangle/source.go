package demangle

import "strings"

// symbolOperators are the operators whose names hold angle brackets, those
// that begin like others first.
var symbolOperators = [...]string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"}

// noTemplateArguments leaves template arguments out of a C++ name in source
// form. A name that makes no sense is returned as it is.
func noTemplateArguments(name string) string {
	if !strings.ContainsRune(name, '<') {
		return name
	}
	var out strings.Builder
	depth := 0
	for i := 0; i < len(name); {
		n := 1
		switch {
		case atOperator(name, i):
			n = len("operator") + operatorLength(name[i+len("operator"):])
			if depth == 0 {
				out.WriteString(name[i : i+n])
			}
			if strings.HasPrefix(name[i+n:], " <") {
				n++ // what compilers put between an operator and its arguments
			}
		case name[i] == '<':
			if depth == 0 && (i == 0 || name[i-1] == ':') {
				out.WriteString("{lambda}") // whose type GCC calls "<lambda(int)>"
			}
			depth++
		case name[i] == '>':
			if depth--; depth < 0 {
				return name
			}
		case depth == 0:
			out.WriteByte(name[i])
		}
		i += n
	}
	if depth != 0 || out.Len() == 0 {
		return name
	}
	return out.String()
}

// atOperator tells whether the word "operator" is at i.
func atOperator(name string, i int) bool {
	const word = "operator"
	if !strings.HasPrefix(name[i:], word) || i > 0 && isIdentifier(name[i-1]) {
		return false
	}
	end := i + len(word)
	return end == len(name) || !isIdentifier(name[end])
}

func isIdentifier(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// operatorLength returns the length of the symbol that rest begins with, 0 if
// it has no angle brackets. After it there is nothing, or template arguments:
// "<<int>" is "<" and its arguments.
func operatorLength(rest string) int {
	for _, op := range symbolOperators {
		if !strings.HasPrefix(rest, op) {
			continue
		}
		if after := rest[len(op):]; after == "" || strings.ContainsRune("<( :>,", rune(after[0])) {
			return len(op)
		}
	}
	return 0
}
