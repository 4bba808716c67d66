package svg

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// display makes a name fit to be shown: what XML 1.0 forbids, other control
// characters and bytes that are not UTF-8 become U+FFFD; line breaks, tabs, line
// separators and characters that change the direction of text are shown as
// escapes, so that a name can neither break a line nor pose as another.
func display(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // invalid bytes come as utf8.RuneError each
		writeRune(&b, r)
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

func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == 0x2028, r == 0x2029, isBidi(r):
		fmt.Fprintf(b, `\u%04x`, r)
	case unicode.IsControl(r), r == 0xfffe, r == 0xffff:
		b.WriteRune(utf8.RuneError)
	default:
		b.WriteRune(r)
	}
}

// isBidi reports whether a character changes the direction of text without
// being seen (Unicode Standard Annex 9, explicit formatting characters).
func isBidi(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// escape makes displayed text fit for XML text and attribute values.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}

// fit returns the beginning of a name that takes at most so many pixels, with
// two dots if it was cut, or "" if not even three characters fit.
func fit(name string, pixels float64) string {
	room := int((pixels - 2*labelPad) / charWidth)
	if room < 3 {
		return ""
	}
	columns, cut := 0, 0
	for i, r := range name {
		columns += columnsOf(r)
		if columns <= room-2 {
			cut = i + utf8.RuneLen(r)
		}
		if columns > room {
			return name[:cut] + ".."
		}
	}
	return name
}

// columnsOf is how many character widths a character takes: two for East Asian
// wide characters and emoji (from U+1100 on, where they begin, with few
// exceptions that merely lose room).
func columnsOf(r rune) int {
	if r >= 0x1100 && r != utf8.RuneError {
		return 2
	}
	return 1
}
