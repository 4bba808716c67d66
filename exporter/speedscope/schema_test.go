package speedscope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/speedscope"
)

// schema is a JSON schema (draft 7), as far as speedscope's own uses it: a keyword
// that we do not know fails the test.
type schema struct {
	t    *testing.T
	root map[string]any
}

// published is file-format-schema.json of the npm package speedscope 1.25.0,
// under the MIT licence, by Jamie Wong.
func published(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile("testdata/file-format-schema.json")
	require.NoError(t, err)
	s := &schema{t: t}
	require.NoError(t, json.Unmarshal(data, &s.root))
	return s
}

// check returns what is wrong with a value.
func (s *schema) check(rules map[string]any, v any, at string) (problems []string) {
	bad := func(format string, args ...any) {
		problems = append(problems, at+": "+fmt.Sprintf(format, args...))
	}
	for keyword, rule := range rules {
		switch keyword {
		case "$schema", "definitions", "title":
		case "$ref":
			name := strings.TrimPrefix(rule.(string), "#/definitions/")
			problems = append(problems, s.check(s.root["definitions"].(map[string]any)[name].(map[string]any), v, at)...)
		case "type":
			if got := kind(v); got != rule {
				bad("is %s, not %v", got, rule)
			}
		case "const":
			if v != rule {
				bad("is not %v", rule)
			}
		case "enum":
			if !slices.Contains(rule.([]any), v) {
				bad("is not one of %v", rule)
			}
		case "anyOf":
			if !slices.ContainsFunc(rule.([]any), func(r any) bool { return len(s.check(r.(map[string]any), v, at)) == 0 }) {
				bad("is none of what it can be")
			}
		case "required":
			object, _ := v.(map[string]any)
			for _, key := range rule.([]any) {
				if _, ok := object[key.(string)]; !ok {
					bad("has no %v", key)
				}
			}
		case "properties":
			object, _ := v.(map[string]any)
			for key, r := range rule.(map[string]any) {
				if child, ok := object[key]; ok {
					problems = append(problems, s.check(r.(map[string]any), child, at+"."+key)...)
				}
			}
		case "items":
			list, _ := v.([]any)
			for i, child := range list {
				problems = append(problems, s.check(rule.(map[string]any), child, fmt.Sprintf("%s[%d]", at, i))...)
			}
		default:
			s.t.Fatalf("keyword %s", keyword)
		}
	}
	return problems
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}

func (s *schema) problems(data []byte) []string {
	s.t.Helper()
	var v any
	require.NoError(s.t, json.Unmarshal(data, &v))
	return s.check(s.root, v, "file")
}

func TestFilesAreValidByThePublishedSchema(t *testing.T) {
	s := published(t)
	other := stackgen.New(500, 1).Graph()
	other.SampleType = callgraph.ValueType{Type: "heap", Unit: "By"}
	for name, graphs := range map[string][]*callgraph.Graph{
		"several": {sample(), stackgen.New(500, 1).Graph(), other}, "none": nil, "empty": {callgraph.NewMerger(1).Graph()},
	} {
		var b bytes.Buffer
		require.NoError(t, speedscope.Write(&b, graphs, speedscope.Options{Name: "a test", Exporter: "flametel"}))
		assert.Empty(t, s.problems(b.Bytes()), name)
	}
}

// The check itself finds what is wrong.
func TestSchemaRefuses(t *testing.T) {
	s := published(t)
	good := doc(`{"type":"sampled","name":"p","unit":"none","startValue":0,"endValue":6,"samples":[[0]],"weights":[1]}`)
	require.Empty(t, s.problems([]byte(good)))
	for _, change := range [][2]string{
		{`"unit":"none"`, `"unit":"samples"`}, {`"endValue":6,`, ``}, {`[[0]]`, `[["a"]]`}, {`"name":"a"`, `"name":1`}, {`"sampled"`, `"timed"`},
	} {
		assert.NotEmpty(t, s.problems([]byte(strings.Replace(good, change[0], change[1], 1))), change[1])
	}
}
