package confighelp

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.opentelemetry.io/collector/confmap"

	"github.com/flametel/flametel/internal/suggest"
)

// invalid is how the decoder names keys that do not exist.
var invalid = regexp.MustCompile(`has invalid keys: ([^\n]+)`)

// Unmarshal decodes a configuration, and says for a key that does not exist which
// one may be meant.
func Unmarshal(conf *confmap.Conf, to any) error {
	err := conf.Unmarshal(to)
	if err == nil {
		return nil
	}
	known := keysOf(reflect.TypeOf(to), map[string]bool{})
	var near, meant []string
	for _, found := range invalid.FindAllStringSubmatch(err.Error(), -1) {
		for key := range strings.SplitSeq(found[1], ", ") {
			if name := nearest(key, known); name != "" {
				near = append(near, name)
				meant = append(meant, name+" instead of "+key)
			}
		}
	}
	switch len(near) {
	case 0:
		return err
	case 1:
		return fmt.Errorf("%w; did you mean %s?", err, near[0])
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(meant, ", "))
}

// keysOf collects the keys of a type and of the types in it.
func keysOf(t reflect.Type, keys map[string]bool) map[string]bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		keysOf(t.Elem(), keys)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if key, _, _ := strings.Cut(f.Tag.Get("mapstructure"), ","); key != "" {
				keys[key] = true
			}
			keysOf(f.Type, keys)
		}
	}
	return keys
}

// nearest returns the key that is most like a name, "" if none is.
func nearest(name string, keys map[string]bool) string {
	best, bestDistance := "", len(name)/3+1
	for key := range keys {
		d := suggest.Distance(name, key)
		if d < bestDistance || d == bestDistance && best != "" && key < best {
			best, bestDistance = key, d
		}
	}
	return best
}
