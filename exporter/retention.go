package exporter

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ownFile is a finished file that our template made.
type ownFile struct {
	path string
	time time.Time
}

// removeOldest removes the oldest files that the template makes, until at most
// max are left. The fresh ones are counted, but stay even if they alone are
// more. With a file go the differential flame graphs beside it, which are not
// counted. Nothing else is touched: no folder, no link, no file whose name differs
// from the template by a character.
func removeOldest(t *template, max int, fresh map[string]bool) error {
	files, err := t.files()
	if err != nil || len(files) <= max {
		return err
	}
	slices.SortFunc(files, func(a, b ownFile) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.path, b.path))
	})
	excess := len(files) - max
	files = slices.DeleteFunc(files, func(f ownFile) bool { return fresh[f.path] })
	var errs []error
	for _, f := range files[:min(excess, len(files))] {
		if err := os.Remove(f.path); err != nil && !os.IsNotExist(err) {
			errs = append(errs, err)
		}
		errs = append(errs, t.removeTwins(f.path))
	}
	return errors.Join(errs...)
}

// files lists the regular files that the template makes.
func (t *template) files() ([]ownFile, error) {
	paths, err := filepath.Glob(t.glob())
	if err != nil {
		return nil, err
	}
	pattern := t.pattern()
	var files []ownFile
	for _, path := range paths {
		twin := strings.HasSuffix(path, twinExtension) && !t.makesTwins()
		if twin || !pattern.MatchString(path) {
			continue
		}
		st, err := os.Lstat(path)
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		files = append(files, ownFile{path, st.ModTime()})
	}
	return files, nil
}

// glob returns a pattern for filepath.Glob that finds all files of a template,
// and others.
func (t *template) glob() string {
	parts := make([]string, len(t.literals))
	for i, literal := range t.literals {
		parts[i] = globQuote(literal)
	}
	if t.suffixed() {
		stem, ext := t.lastLiteral()
		parts[len(parts)-1] = globQuote(stem) + "*" + globQuote(ext)
	}
	return strings.Join(parts, "*")
}

// globQuote makes filepath.Glob take text as it is.
func globQuote(text string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(text)
}
