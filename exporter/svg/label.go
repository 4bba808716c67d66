package svg

import (
	"regexp"
	"slices"
)

// notAName matches what cannot begin a part of a name that says anything by
// itself: numbers, closures in braces, suffixes that compilers add.
var notAName = regexp.MustCompile(`^([\d{:]|(cold|isra|part|constprop|llvm)\b)`)

// fit returns as much of a name as so many pixels have room for, or "" if not
// even three characters fit. What is cut, and marked by an ellipsis, is what tells
// least about the function: first its parameters, then from the front packages,
// namespaces and classes, and last the end of its own name.
//
// The script has the same function: a test compares what they return.
func fit(name string, pixels float64) string {
	room := int((pixels - 2*labelPad) / charWidth)
	if room < 3 {
		return ""
	}
	chars := []rune(name)
	if columns(chars) <= room {
		return name
	}
	starts, end := partsOf(chars)
	body := chars[:end]
	if columns(body) < room {
		return string(body) + "…"
	}
	// From the end, as hostile names may have very many parts.
	last := starts[len(starts)-1]
	tail, used, at := 0, 0, len(body)
	for _, s := range slices.Backward(starts) {
		if used += columns(body[s:at]); used >= room {
			break
		}
		tail, at = s, s
	}
	if tail > 0 {
		return "…" + string(body[tail:])
	}
	end, used = last, 0
	for used+columnsOf(body[end]) < room {
		used += columnsOf(body[end])
		end++
	}
	return string(body[last:end]) + "…"
}

// partsOf returns where the parts of a qualified name begin, the first at 0, and
// where parameters, or the source file after a space, begin or the name ends.
func partsOf(chars []rune) (starts []int, end int) {
	starts, end = []int{0}, len(chars)
	depth, args := 0, 0
	for i, c := range chars {
		last := starts[len(starts)-1]
		switch c {
		case '(', '[', '{', '<':
			operator := i >= 8 && string(chars[i-8:i]) == "operator"
			if c == '(' && depth == 0 && args == 0 && i > last && !operator {
				args = i
			}
			depth++
		case ')', ']', '}', '>':
			depth = max(0, depth-1)
		case ':', '.', '/':
			rest := string(chars[i+1 : min(len(chars), i+12)])
			if depth == 0 && rest != "" && !notAName.MatchString(rest) {
				starts, args = append(starts, i+1), 0
			}
		case ' ':
			if depth == 0 && i > 0 && i+1 < len(chars) && chars[i+1] == '/' {
				return starts, i
			}
		}
	}
	if args > 0 {
		end = args
	}
	return starts, end
}

func columns(chars []rune) int {
	n := 0
	for _, r := range chars {
		n += columnsOf(r)
	}
	return n
}
