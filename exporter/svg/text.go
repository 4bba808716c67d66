package svg

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// display makes a name fit to be shown: control characters and bytes that are
// not UTF-8 are written as \xNN, what XML 1.0 forbids besides, line separators
// and characters that change the direction of text as \uNNNN. So a name can
// neither break a line nor pose as another, and two names that differ look
// different.
func display(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s { // invalid bytes come as utf8.RuneError each
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case isHidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case isHidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
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

// isHidden reports whether a character is not to stand in the file as it is.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || r == 0xfffe || r == 0xffff || r == 0x2028 || r == 0x2029 || isBidi(r)
}

// isBidi reports whether a character changes the direction of text without
// being seen (Unicode Standard Annex 9, explicit formatting characters).
func isBidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;")

// escape makes displayed text fit for XML text and attribute values.
func escape(s string) string { return escaper.Replace(s) }

// columnsOf is how many character widths a character takes: two for East Asian
// wide characters and emoji (from U+1100 on, where they begin, with few
// exceptions that merely lose room), except for general punctuation.
func columnsOf(r rune) int {
	if r >= 0x1100 && r != utf8.RuneError && (r < 0x2000 || r > 0x206f) {
		return 2
	}
	return 1
}
