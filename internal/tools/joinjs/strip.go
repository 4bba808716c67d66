package main

import (
	"errors"
	"strings"
)

// Strip returns JavaScript without comments and space, with short names for those
// of its own. It keeps what is within strings, template literals and regular
// expressions, and a line break wherever the end of a statement might depend on
// it. globals are the names, separated by space, that the script uses but does not
// define.
func Strip(source, globals string) (string, error) {
	names := newRenamer(globals)
	if _, err := strip(source, names); err != nil {
		return "", err
	}
	names.choose()
	return strip(source, names)
}

func strip(source string, names *renamer) (string, error) {
	s := &stripper{in: source, names: names}
	for s.at < len(s.in) {
		if err := s.next(); err != nil {
			return "", err
		}
	}
	if len(s.open) > 0 {
		return "", errors.New("a bracket is not closed")
	}
	if s.semicolon {
		s.out.WriteByte(';')
	}
	return s.out.String() + "\n", nil
}

// What a bracket can be.
type bracket byte

const (
	other    bracket = iota // ( and { of a block
	object                  // { of an object or pattern
	list                    // [
	template                // ${
)

type stripper struct {
	in    string
	at    int
	out   strings.Builder
	names *renamer
	// last is the last byte written, word the word that it ended, if it was no
	// name behind a dot; gap and line say what space came after it.
	last      byte
	word      string
	gap, line bool
	open      []bracket
	// semicolon is one that is not written yet: it may not be needed.
	semicolon bool
	// statement is the number of the statement in the outermost function.
	statement int
	// lets tells for each level of brackets whether the statement is a declaration.
	lets [maxLevels]bool
}

// maxLevels is how deep brackets may be nested.
const maxLevels = 100

var errUnterminated = errors.New("a string, comment or expression does not end")

func (s *stripper) next() error {
	c, rest := s.in[s.at], s.in[s.at:]
	switch {
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		s.gap, s.line = true, s.line || c == '\n'
		s.at++
		return nil
	case strings.HasPrefix(rest, "//"):
		s.at += strings.IndexByte(rest+"\n", '\n')
		return nil
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return errUnterminated
		}
		s.at += end + 4
		s.gap = true
		return nil
	case c == '\'' || c == '"':
		return s.copyUntil(c)
	case c == '`':
		return s.copyTemplate()
	case c == '/' && s.startsExpression():
		return s.expression()
	case isWord(c):
		end := 0
		for end < len(rest) && isWord(rest[end]) {
			end++
		}
		return s.wordToken(rest[:end])
	case strings.IndexByte("([{", c) >= 0:
		kind := other
		switch {
		case c == '[':
			kind = list
		case c == '{' && inObject(s.last, s.word):
			kind = object
		}
		if len(s.open) == maxLevels-1 {
			return errors.New("brackets are nested too deep")
		}
		s.emit(rest[:1], rest[:1])
		s.open = append(s.open, kind)
		s.lets[len(s.open)] = false
		return nil
	case strings.IndexByte(")]}", c) >= 0:
		if len(s.open) == 0 {
			return errors.New("a bracket closes nothing")
		}
		kind := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		if c == '}' && kind == other && len(s.open) == outermost {
			s.statement++
		}
		if kind == template {
			return s.copyTemplate()
		}
	}
	s.emit(rest[:1], rest[:1])
	return nil
}

// emit writes something for a token, and before it what is left of the space.
// Declarations that follow each other become one, and ]] and > stay apart, as
// together they would end CDATA.
func (s *stripper) emit(token, text string) {
	c := token[0]
	lets := &s.lets[len(s.open)]
	if s.semicolon {
		s.semicolon = false
		switch {
		case c == '}':
		case text == "let" && *lets:
			s.out.WriteByte(',')
			s.done(token, ',')
			return
		default:
			s.out.WriteByte(';')
		}
		*lets = false
	} else {
		switch {
		case s.last == 0 || !s.gap:
		case s.line && strings.IndexByte(";{},(=[:?&|<>*", s.last) < 0 && strings.IndexByte("}).,:?&|=", c) < 0:
			s.out.WriteByte('\n')
		case isWord(s.last) && isWord(c), s.last == ']' && c == '>', s.last == c && (c == '+' || c == '-'):
			s.out.WriteByte(' ')
		}
	}
	*lets = *lets || text == "let"
	if text == ";" {
		s.semicolon = true
		if len(s.open) == outermost {
			s.statement++
		}
	} else {
		s.out.WriteString(text)
	}
	s.done(token, token[len(token)-1])
}

func (s *stripper) done(token string, last byte) {
	s.at += len(token)
	s.last, s.word, s.gap, s.line = last, "", false, false
}

func (s *stripper) copyUntil(quote byte) error {
	for end := s.at + 1; end < len(s.in) && s.in[end] != '\n'; end++ {
		switch s.in[end] {
		case '\\':
			end++
		case quote:
			s.emit(s.in[s.at:end+1], s.in[s.at:end+1])
			return nil
		}
	}
	return errUnterminated
}

// copyTemplate copies a template literal, from its beginning or from the end of
// code in it, up to its end or the next code.
func (s *stripper) copyTemplate() error {
	for end := s.at + 1; end < len(s.in); end++ {
		switch {
		case s.in[end] == '\\':
			end++
		case s.in[end] == '`':
			s.emit(s.in[s.at:end+1], s.in[s.at:end+1])
			return nil
		case strings.HasPrefix(s.in[end:], "${"):
			s.emit(s.in[s.at:end+2], s.in[s.at:end+2])
			s.open = append(s.open, template)
			return nil
		}
	}
	return errUnterminated
}

// startsExpression reports whether a slash begins a regular expression: not
// after a value.
func (s *stripper) startsExpression() bool {
	if s.word == "return" || s.word == "typeof" || s.last == 0 {
		return true
	}
	return !isWord(s.last) && s.last != ')' && s.last != ']' && s.last != '}'
}

func (s *stripper) expression() error {
	class := false
	for end := s.at + 1; end < len(s.in) && s.in[end] != '\n'; end++ {
		switch c := s.in[end]; {
		case c == '\\':
			end++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			for end++; end < len(s.in) && isWord(s.in[end]); end++ {
			}
			s.emit(s.in[s.at:end], s.in[s.at:end])
			s.last = ')' // a value, whatever its flags
			return nil
		}
	}
	return errUnterminated
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '#' || c >= 0x80
}
