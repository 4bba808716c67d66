package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/flametel/flametel/exporter/folded"
	"github.com/flametel/flametel/exporter/otlp"
	"github.com/flametel/flametel/exporter/perfscript"
	"github.com/flametel/flametel/exporter/pprof"
)

// foreign are files that people have at hand and that we do not read, by their
// first bytes, and what to do with them.
var foreign = []struct{ magic, text string }{
	{"PERFILE2", "this is perf's own recording; print it first: perf script -i FILE > out.perf"},
	{"FLR\x00", "this is a recording of Java Flight Recorder; convert it first: jfrconv -o collapsed FILE out.collapsed"},
	{"\x28\xb5\x2f\xfd", "this is compressed by zstd; decompress it first: zstd -d FILE"},
	{"BZh", "this is compressed by bzip2; decompress it first: bunzip2 FILE"},
	{"\xfd7zXZ", "this is compressed by xz; decompress it first: unxz FILE"},
	{"PK\x03\x04", "this is a ZIP archive; unpack it first: unzip FILE"},
	{"\x7fELF", "this is a program, not a profile of one"},
	{"\x1f\x8b", "this is compressed twice; decompress it first: gunzip FILE"},
}

// detect finds the format of a file by what is in it. The input that it returns
// has all of the file.
func detect(in *input) (*Format, *input, error) {
	head, err := in.head()
	if err != nil {
		return nil, nil, err
	}
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return nil, nil, errors.New(f.text)
		}
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case isBinary(head):
		return detectBinary(in)
	case len(text) == 0 && len(head) < headSize:
		return ByName("folded"), in, nil // empty
	case isMarkup(text):
		return detectMarkup(text, in)
	case text[0] == '{' && len(topKeys(text)) > 0:
		return detectJSON(text, in)
	case perfscript.Is(string(head)):
		return ByName("perf-script"), in, nil
	case looksFolded(head):
		return ByName("folded"), in, nil
	}
	return nil, nil, errUnknown()
}

func errUnknown() error {
	return fmt.Errorf("this is none of %s; say which with --from if it is", strings.Join(ReadNames(), ", "))
}

// isBinary reports whether a file can be a message of protobuf: it begins with
// the tag of a field or with a length, and has bytes that text has not.
func isBinary(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	control := func(b byte) bool { return b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != 0x1b }
	const near = 4 << 10
	for _, b := range head[:min(len(head), near)] {
		if control(b) {
			return head[0] < 0x80
		}
	}
	return false
}

// detectBinary reads all of a file, as only the whole shows what it is: what is
// no message may be text of a hostile program.
func detectBinary(in *input) (*Format, *input, error) {
	data, err := in.all()
	if err != nil {
		return nil, nil, err
	}
	again := newInput(bytes.NewReader(data))
	switch {
	case pprof.Is(data):
		return ByName("pprof"), again, nil
	case otlp.Is(data):
		return ByName("otlp"), again, nil
	case perfscript.Is(string(data[:min(len(data), headSize)])):
		return ByName("perf-script"), again, nil
	case looksFolded(data[:min(len(data), headSize)]):
		return ByName("folded"), again, nil
	}
	return nil, nil, errUnknown()
}

// isMarkup reports whether text is XML or HTML; a function can have a name such
// as <T as U>::f.
func isMarkup(text []byte) bool {
	start := strings.ToLower(string(text[:min(len(text), 16)]))
	for _, tag := range []string{"<?xml", "<svg", "<!doctype", "<!--", "<html"} {
		if strings.HasPrefix(start, tag) {
			return true
		}
	}
	return false
}

// detectMarkup takes XML for an SVG, and leaves it to the reader to say what is
// wrong with it.
func detectMarkup(text []byte, in *input) (*Format, *input, error) {
	if start := strings.ToLower(string(text[:min(len(text), 512)])); strings.Contains(start, "<html") || strings.Contains(start, "<!doctype html") {
		return nil, nil, errors.New("this is a page of HTML; flame graphs are read as SVG that flametel wrote, and those of async-profiler as -o collapsed")
	}
	return ByName("svg"), in, nil
}

// detectJSON goes by the first key that only one format has.
func detectJSON(text []byte, in *input) (*Format, *input, error) {
	known := map[string]string{
		"$schema": "speedscope", "shared": "speedscope", "profiles": "speedscope",
		"activeProfileIndex": "speedscope", "exporter": "speedscope",
		"resourceProfiles": "otlp-json", "resource_profiles": "otlp-json", "dictionary": "otlp-json",
	}
	for _, key := range topKeys(text) {
		if name := known[key]; name != "" {
			return ByName(name), in, nil
		}
	}
	return nil, nil, errors.New("this JSON is neither OTLP profiles nor a file of speedscope's own format")
}

// topKeys returns the keys of an object, as far as the text goes.
func topKeys(text []byte) []string {
	d := json.NewDecoder(bytes.NewReader(text))
	var keys []string
	depth := 0
	isKey := false
	for {
		token, err := d.Token()
		if err != nil {
			return keys
		}
		switch t := token.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
				isKey = depth == 1
				continue
			}
			depth--
			isKey = depth == 1
			if depth == 0 {
				return keys
			}
		case string:
			if depth == 1 && isKey {
				keys = append(keys, t)
				isKey = false
				continue
			}
			isKey = depth == 1
		default:
			isKey = depth == 1
		}
	}
}

// looksFolded reports whether one of the first lines is a stack and a count.
func looksFolded(head []byte) bool {
	end := bytes.LastIndexByte(head, '\n') // the last line may be cut
	if end < 0 || len(head) < headSize {
		end = len(head)
	}
	res, err := folded.Read(io.LimitReader(bytes.NewReader(head), int64(end)))
	return err == nil && (res.Graph.Total(0) > 0 || res.BadLines == 0 || end == headSize)
}
