package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns text that others chose as it may go to a terminal: control
// characters, marks that change the direction of writing, invisible characters
// and bytes that are not UTF-8 are written as \x1b or \u202e.
func Escape(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		} else if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Clip escapes s and cuts it to at most max characters, the last of which then
// is an ellipsis.
func Clip(s string, max int) string {
	// No character needs fewer than one byte, so this much is enough to see
	// whether something is left over, and the work is bounded.
	if limit := utf8.UTFMax * (max + 1); len(s) > limit {
		s = s[:limit]
	}
	text := []rune(Escape(s))
	if len(text) <= max {
		return string(text)
	}
	return string(text[:max-1]) + "…"
}
