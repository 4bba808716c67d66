package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// words of the language that are no names of the script's own.
const reserved = `async await break case catch class const continue default delete do else export
extends false finally for function if import in instanceof let new null of return static super
switch this throw true try typeof undefined var void while with yield
NaN Infinity isFinite isNaN parseInt`

// renamer gives names of the script's own short ones, the most frequent the
// shortest. A name has one short name wherever it stands, so that scopes need not
// be known. Two names share one if they never stand in the same statement of the
// outermost function and are not both declared there: then at least one is local,
// and hides nothing that its statement uses. Names behind a dot and keys of
// objects stay as they are.
type renamer struct {
	keep  map[string]bool
	found map[string]*found
	short map[string]string
}

// found is where a name was found.
type found struct {
	name  string
	count int
	// statements of the outermost function; top: declared there, for all we know.
	statements map[int]bool
	top        bool
}

func newRenamer(globals string) *renamer {
	r := &renamer{keep: map[string]bool{}, found: map[string]*found{}}
	for _, w := range strings.Fields(reserved + " " + globals) {
		r.keep[w] = true
	}
	return r
}

// name returns what to write for a name. The first pass over the source counts.
func (r *renamer) name(word string, statement int, top bool) string {
	if r.keep[word] || word[0] >= '0' && word[0] <= '9' {
		return word
	}
	if r.short != nil {
		return r.short[word]
	}
	f := r.found[word]
	if f == nil {
		f = &found{name: word, statements: map[int]bool{}}
		r.found[word] = f
	}
	f.count++
	f.statements[statement] = true
	f.top = f.top || top
	return word
}

// choose gives the short names after the first pass.
func (r *renamer) choose() {
	all := slices.SortedFunc(maps.Values(r.found), func(a, b *found) int {
		return cmp.Or(-cmp.Compare(a.count, b.count), cmp.Compare(a.name, b.name))
	})
	r.short = map[string]string{}
	users := map[string][]*found{}
	for _, f := range all {
		for i := 0; ; i++ {
			s := shortName(i)
			if !r.keep[s] && !slices.ContainsFunc(users[s], f.conflicts) {
				r.short[f.name], users[s] = s, append(users[s], f)
				break
			}
		}
	}
}

// shortName is the name with a number: a to Z, then aa to ZZ.
func shortName(i int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if i < len(letters) {
		return letters[i : i+1]
	}
	i -= len(letters)
	return letters[i/52%52:i/52%52+1] + letters[i%52:i%52+1]
}

func (f *found) conflicts(g *found) bool {
	if f.top && g.top {
		return true
	}
	for s := range f.statements {
		if g.statements[s] {
			return true
		}
	}
	return false
}

// inObject reports whether a { opens an object or a pattern rather than a block,
// by what stands before it.
func inObject(last byte, word string) bool {
	switch word {
	case "return", "const", "let", "of":
		return true
	case "":
		return strings.IndexByte("(,=:[?&|.", last) >= 0
	}
	return false
}

// nextByte is the first byte after a position that is neither space nor comment.
func nextByte(s string, at int) byte {
	for at < len(s) {
		rest := s[at:]
		switch {
		case strings.HasPrefix(rest, "//"):
			at += strings.IndexByte(rest+"\n", '\n')
		case strings.IndexByte(" \t\r\n", s[at]) >= 0:
			at++
		default:
			return s[at]
		}
	}
	return 0
}

// word writes a name or keyword.
func (s *stripper) wordToken(word string) error {
	before, next := s.last, nextByte(s.in, s.at+len(word))
	if before == '.' && !strings.HasSuffix(s.out.String(), "...") {
		s.emit(word, word)
		return nil
	}
	if n := len(s.open); n > 0 && s.open[n-1] == object && s.word == "" && (before == '{' || before == ',') {
		switch next {
		case ':':
			s.emit(word, word)
			return nil
		case ',', '}', '=':
			s.emit(word, word+":"+s.rename(word))
			return nil
		case '(':
			return fmt.Errorf("the key %s is a method: write it as a property", word)
		}
	}
	text := s.rename(word)
	switch word {
	case "const":
		text = "let" // the same for who only runs it
	case "true":
		text = "!0"
	case "false":
		text = "!1"
	}
	s.emit(word, text)
	s.word = word
	return nil
}

func (s *stripper) rename(word string) string {
	level := len(s.open)
	top := level <= outermost || level == outermost+1 && s.open[level-1] != other
	return s.names.name(word, s.statement, top)
}

// outermost is the number of brackets around the body of the function that is
// the whole script.
const outermost = 2
