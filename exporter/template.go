package exporter

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Placeholders of a path, in the order in which errors list them.
const (
	placeService = "service"
	placeType    = "type"
	placeStart   = "start"
	placeHost    = "host"
)

func placeholders() []string {
	return []string{placeService, placeType, placeStart, placeHost}
}

// maxValue bounds a substituted value in bytes: with all four placeholders and
// some text a file name stays below the 255 bytes that file systems take.
const maxValue = 48

// startLayout is ISO 8601 basic format: without colons, as they cannot stand in
// file names everywhere.
const startLayout = "20060102T150405Z"

// template is a parsed path. Literal text and placeholders alternate, and the
// first and last parts are literal: literals[0] places[0] literals[1] ...
type template struct {
	literals []string
	places   []string
}

func parseTemplate(path string) (*template, error) { return parseTemplateOf("path", path) }

// parseTemplateOf parses the value of a key.
func parseTemplateOf(key, path string) (*template, error) {
	t := &template{}
	rest := filepath.Clean(path)
	for {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("%s: %q has a } without a {", key, path)
		}
		t.literals = append(t.literals, before)
		if !found {
			return t, nil
		}
		name, after, found := strings.Cut(after, "}")
		if !found {
			return nil, fmt.Errorf("%s: %q has a { without a }", key, path)
		}
		if !slices.Contains(placeholders(), name) {
			return nil, fmt.Errorf("%s: {%s} is not one of {%s}", key, name, strings.Join(placeholders(), "}, {"))
		}
		t.places = append(t.places, name)
		rest = after
	}
}

func (t *template) has(place string) bool { return slices.Contains(t.places, place) }

// values are what placeholders are replaced by; each is made safe on the way.
type values struct {
	service, sampleType, host string
	start                     time.Time
}

// path returns the path of a file.
func (t *template) path(v values) string { return t.pathWith(v, "") }

// pathWith returns the path of a file that has text before its extension.
func (t *template) pathWith(v values, text string) string {
	var b strings.Builder
	for i, place := range t.places {
		b.WriteString(t.literals[i])
		b.WriteString(v.of(place))
	}
	stem, ext := t.lastLiteral()
	b.WriteString(stem)
	b.WriteString(text)
	b.WriteString(ext)
	return b.String()
}

// lastLiteral is the last literal text, cut before the extension.
func (t *template) lastLiteral() (stem, ext string) {
	last := t.literals[len(t.literals)-1]
	ext = extensionOf(last)
	return strings.TrimSuffix(last, ext), ext
}

func (v values) of(place string) string {
	switch place {
	case placeService:
		return safeValue(v.service)
	case placeType:
		return safeValue(v.sampleType)
	case placeHost:
		return safeValue(v.host)
	}
	return v.start.UTC().Format(startLayout)
}

// safeValue makes a string that others choose safe within a file name: ASCII
// letters, digits, dot, dash and underscore stay, all else becomes _; it does
// not begin with a dot or dash and is at most maxValue bytes long. A value that
// had to be changed gets a hash of the original at its end, so that two values
// never share a file.
func safeValue(s string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, s)
	if safe == "" {
		return "unknown"
	}
	if safe[0] == '.' || safe[0] == '-' {
		safe = "_" + safe[1:]
	}
	if safe == s && len(s) <= maxValue {
		return s
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	suffix := fmt.Sprintf("-%08x", h.Sum32())
	return safe[:min(len(safe), maxValue-len(suffix))] + suffix
}

// Text that may stand for a placeholder in the name of one of our files.
const (
	valuePattern = `[A-Za-z0-9_][A-Za-z0-9._-]*`
	startPattern = `[0-9]{8}T[0-9]{6}Z`
)

// pattern returns a regular expression that matches the paths of the files this
// template makes, and nothing that merely resembles them.
func (t *template) pattern() *regexp.Regexp {
	var b strings.Builder
	for i, place := range t.places {
		b.WriteString(regexp.QuoteMeta(t.literals[i]))
		if place == placeStart {
			b.WriteString(startPattern)
		} else {
			b.WriteString(valuePattern)
		}
	}
	stem, ext := t.lastLiteral()
	b.WriteString(regexp.QuoteMeta(stem))
	if t.suffixed() {
		b.WriteString(`(-` + valuePattern + `)?`)
	}
	b.WriteString(regexp.QuoteMeta(ext))
	return regexp.MustCompile(`^` + b.String() + `$`)
}

// suffixed reports whether each interval may leave files with a type before
// their extension. Without a start the same few are written again.
func (t *template) suffixed() bool { return t.has(placeStart) && !t.has(placeType) }
