package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flametel/flametel/cmd/flametel/internal/figures"
	"github.com/flametel/flametel/cmd/flametel/internal/terminal"
)

// stdoutPath is the output that stands for standard output.
const stdoutPath = "-"

// output is one file to be written.
type output struct {
	path   string
	format string // empty: by the extension
	// twin is the file in which the profile is compared with a baseline, "" if it
	// is not.
	twin string
	// sampleType is the only type that is written, "" for all that come.
	sampleType string
	// failed is why it was not written.
	failed error
	// reserved: we made an empty file under the name so that it stays ours.
	reserved bool
}

// extensions of default names, by format.
var extensions = map[string]string{
	"svg": ".svg", "folded": ".folded", "pprof": ".pb.gz", "speedscope": ".speedscope.json",
}

// known is an extension by which the exporter knows a format.
type known struct{ extension, format string }

func knownFormats() []known {
	return []known{
		{".svg", "svg"}, {".folded", "folded"}, {".txt", "folded"}, {".pb.gz", "pprof"}, {".pprof", "pprof"},
		{".speedscope.json", "speedscope"},
	}
}

func knownExtensions() []string {
	var list []string
	for _, k := range knownFormats() {
		list = append(list, k.extension)
	}
	return list
}

// formatByExtension is the format that the extension of a path stands for, "" if
// for none.
func formatByExtension(path string) string {
	for _, k := range knownFormats() {
		if strings.HasSuffix(path, k.extension) {
			return k.format
		}
	}
	return ""
}

// mismatch is a warning about an output whose extension stands for another
// format than it will have, "" if there is nothing to warn of.
func (o *output) mismatch() string {
	if by := formatByExtension(o.path); o.format != "" && by != "" && by != o.format {
		return fmt.Sprintf("%s will be %s, as --format says, although its extension stands for %s", terminal.Escape(o.path), o.format, by)
	}
	return ""
}

// twinOf is where the exporter compares a file with a baseline.
func twinOf(path string) string {
	for _, k := range knownFormats() {
		if stem, found := strings.CutSuffix(path, k.extension); found {
			return stem + twinExtension
		}
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + twinExtension
}

// twinExtension is that of exporter.Config.Baseline.
const twinExtension = ".diff.svg"

// isDevice reports whether an output is written in place, not replaced.
func isDevice(path string) bool {
	clean := filepath.Clean(path)
	return strings.HasPrefix(clean, "/dev/") && !strings.HasPrefix(clean, "/dev/shm/") || strings.HasPrefix(clean, "/proc/")
}

// checkOutput finds out before a recording whether its result can be written.
// The exporter would make a missing folder, but here it rather is a mistake.
func checkOutput(path string) error {
	switch {
	case path == stdoutPath:
		return nil
	case isDevice(path):
		return checkDevice(path)
	}
	dir := filepath.Dir(path)
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("folder %s does not exist; make it or choose another --output", dir)
	case err != nil:
		return fmt.Errorf("folder %s: %w", dir, cause(err))
	case !st.IsDir():
		return fmt.Errorf("%s is not a folder; choose another --output", dir)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; choose another --output", path)
	}
	return probe(dir)
}

// checkDevice proves that a device can be written: none can be made.
func checkDevice(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("%s cannot be written, and no file can be made there: %w; choose another --output", path, cause(err))
	}
	return f.Close()
}

// probe proves that files can be made in a folder.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".flametel-*.tmp")
	if err != nil {
		return fmt.Errorf("folder %s cannot be written: %w; choose another --output", dir, cause(err))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// cause strips operation and path from an error; our own text names them.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// stem is the part of a default name before the time: profile- and what is
// recorded.
func stem(what string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, what)
	if len(safe) > 64 {
		safe = safe[:64]
	}
	if safe == "" {
		safe = "host"
	}
	return "profile-" + safe
}

// formatOr is the format of a default name.
func formatOr(format string) string {
	if format == "" {
		return "svg"
	}
	return format
}

// maxSuffix bounds the search for a free name.
const maxSuffix = 1000

// reserve makes an empty file under a default name in the present folder. If
// there is such a file, -1, -2 ... comes before the extension.
func reserve(what string, now time.Time, format string) (output, error) {
	format = formatOr(format)
	base := stem(what) + now.Format("-20060102-150405")
	for i := range maxSuffix {
		path := base + extensions[format]
		if i > 0 {
			path = base + "-" + strconv.Itoa(i) + extensions[format]
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return output{}, fmt.Errorf("the present folder cannot be written: %w; choose a file with --output", cause(err))
		}
		return output{path: path, format: format, reserved: true}, f.Close()
	}
	return output{}, fmt.Errorf("%s and %d more such names are taken; choose a file with --output", base, maxSuffix)
}

// release removes what reserve made if nothing was written there.
func (o *output) release() {
	if !o.reserved {
		return
	}
	if st, err := os.Lstat(o.path); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
		_ = os.Remove(o.path)
	}
}

// kind is the format that the output has.
func (o *output) kind() string {
	if o.format != "" {
		return o.format
	}
	if by := formatByExtension(o.path); by != "" {
		return by
	}
	return "folded" // standard output, unless said otherwise
}

// name is what to call the output in a message.
func (o *output) name() string {
	if o.path == stdoutPath {
		return "standard output"
	}
	return terminal.Escape(o.path)
}

// files are the names under which the output is found.
func (o *output) files() []string {
	if o.twin != "" {
		if _, err := os.Stat(o.twin); err == nil { // nothing may have come to compare
			return []string{o.path, o.twin}
		}
	}
	return []string{o.path}
}

// written describes an output after the recording: its name and size, and those
// of the comparison beside it.
func (o *output) written() string {
	if files := o.files(); len(files) > 1 {
		return (&output{path: files[0]}).written() + ", " + (&output{path: files[1]}).written()
	}
	if o.path == stdoutPath {
		return "standard output"
	}
	st, err := os.Stat(o.path)
	if err != nil || !st.Mode().IsRegular() {
		return o.path
	}
	return fmt.Sprintf("%s (%s)", o.path, figures.Bytes(st.Size()))
}
