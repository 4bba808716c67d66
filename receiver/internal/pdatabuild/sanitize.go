package pdatabuild

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxStringBytes bounds each string of a message. Names come from files
	// that anybody can write; 4 KiB is the longest path Linux knows (PATH_MAX)
	// and more than readers of a profile can use of a name.
	maxStringBytes = 4096
	// ellipsis marks a string that was cut.
	ellipsis = "…"
)

// sanitize makes a string from a profiled program fit for protobuf and for
// what comes after. Each run of bytes that is not UTF-8 and each control
// character (Unicode category Cc, so NUL, tab, newline, escape, DEL and U+0080
// to U+009F too) becomes U+FFFD: protobuf refuses the former, data bases refuse
// NUL, and the rest can drive terminals or break formats of one line a record.
// A string longer than maxStringBytes is cut between characters and ends in an
// ellipsis.
func sanitize(s string) string {
	if clean(s) {
		return s
	}
	long := len(s) > maxStringBytes
	if long {
		s = s[:maxStringBytes]
	}
	s = replace(s)
	if long || len(s) > maxStringBytes {
		s = cut(s, maxStringBytes-len(ellipsis)) + ellipsis
	}
	return s
}

// clean is the fast path: nearly all names are short printable ASCII.
func clean(s string) bool {
	if len(s) > maxStringBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == 0x7f {
			return false
		} else if c >= utf8.RuneSelf {
			return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		}
	}
	return true
}

func replace(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

// cut shortens a valid string to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
