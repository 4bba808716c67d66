package jitname

import (
	"path"
	"strconv"
	"strings"
)

// v8Functions are the tags of functions, v8Others those of other code, which
// stay in the name (v8/src/logging/code-events.h). The latter are V8's alone.
var (
	v8Functions = [...]string{"JS:", "LazyCompile:", "Function:", "Script:", "Eval:", "InterpretedFunction:"}
	v8Others    = [...]string{"Builtin:", "BytecodeHandler:", "RegExp:"}
)

// v8 takes names such as "JS:*inner /srv/app.js:1:15" apart. A function's tag
// is believed only with the mark of a tier, or in a process with V8.
func v8(raw string, process Runtime) (n Name, ok bool) {
	n.Runtime = V8
	for _, tag := range v8Others {
		if strings.HasPrefix(raw, tag) && len(raw) > len(tag) {
			return n, true
		}
	}
	for _, tag := range v8Functions {
		rest, ok := strings.CutPrefix(raw, tag)
		if !ok {
			continue
		}
		rest, n.Tier = v8Tier(rest)
		if n.Tier == "" && process != V8 {
			return n, false
		}
		n.function(rest, tag)
		return n, true
	}
	return n, false
}

// v8Tier cuts the mark of the tier (CodeKindToMarker in v8/src/objects/
// code-kind.cc). An apostrophe behind it tells that the code is for one
// context only.
func v8Tier(name string) (rest, tier string) {
	if name == "" {
		return "", ""
	}
	switch name[0] {
	case '~':
		tier = "interpreted"
	case '^':
		tier = "baseline"
	case '+':
		tier = "maglev"
	case '*':
		tier = "turbofan"
	default:
		return name, ""
	}
	return strings.TrimPrefix(name[1:], "'"), tier
}

// function takes "name file:line:column" apart. The name may be empty and have
// no place; the file may have spaces, the name has none but those of accessors.
func (n *Name) function(text, tag string) {
	name, file := text, ""
	if place, line, column, ok := cutPlace(text); ok {
		n.StartLine, n.Column = line, column
		name, file = splitName(place)
	} else if tag == "Script:" {
		name, file = "", text
	} else if i := strings.IndexByte(text, ' '); i >= 0 && strings.ContainsAny(text[i:], "/:") {
		name, file = splitName(text)
	}
	n.Name, n.File = name, file
	if name != "" || file == "" {
		if name == "" {
			n.Name = "(anonymous)"
		}
		return
	}
	short := file
	if !strings.HasPrefix(file, "node:") {
		short = path.Base(file)
	}
	if tag == "Script:" || n.StartLine <= 1 && n.Column <= 1 {
		n.Name = "(script) " + short
		return
	}
	// Functions without a name are told apart by their place.
	n.Name = "(anonymous) " + short + ":" + strconv.FormatInt(n.StartLine, 10) + ":" + strconv.FormatInt(n.Column, 10)
}

// splitName splits a function's name from its file. Accessors are named
// "get x" and "set x".
func splitName(s string) (name, file string) {
	from := 0
	if strings.HasPrefix(s, "get ") || strings.HasPrefix(s, "set ") {
		// A file is absolute or an URL; the name of a property is not.
		if rest := s[4:]; !strings.HasPrefix(rest, "/") && strings.Contains(rest, " ") {
			from = 4
		}
	}
	i := strings.IndexByte(s[from:], ' ')
	if i < 0 {
		return s, ""
	}
	return s[:from+i], s[from+i+1:]
}

// cutPlace cuts ":line:column" off the end.
func cutPlace(s string) (rest string, line, column int64, ok bool) {
	rest, column, ok1 := cutNumber(s)
	rest, line, ok2 := cutNumber(rest)
	if !ok1 || !ok2 {
		return s, 0, 0, false
	}
	return rest, line, column, true
}

func cutNumber(s string) (rest string, v int64, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	v, err := strconv.ParseInt(s[i+1:], 10, 32)
	return s[:i], v, err == nil && v >= 0 && s[i+1] != '+'
}
