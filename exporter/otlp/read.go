package otlp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/bounds"
)

// errEmpty says that there is no message.
var errEmpty = errors.New("read OTLP: the file has no profiles")

// ReadJSON reads messages of JSON, one after the other. They need not stand on
// lines of their own.
func ReadJSON(data []byte, opts callgraph.Options) ([]*callgraph.Graph, error) {
	b := callgraph.NewBuilder(opts)
	for n := 1; ; n++ {
		data = bytes.TrimLeft(data, " \t\r\n")
		if len(data) == 0 {
			return graphs(b)
		}
		message := data[:objectLength(data)]
		data = data[len(message):]
		if err := bounds.JSON(message); err != nil {
			return nil, fmt.Errorf("read OTLP: message %d %w", n, err)
		}
		p, err := (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(message)
		if err != nil {
			return nil, fmt.Errorf("read OTLP: message %d is damaged: %w", n, err)
		}
		b.Add(p)
	}
}

// objectLength is the length of the object that JSON begins with, or of all of
// it if the object does not end.
func objectLength(text []byte) int {
	depth := 0
	inString, escaped := false, false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// messages are the fields of ProfilesData that are messages (OpenTelemetry
// protocol, profiles/v1development/profiles.proto).
func messages() bounds.Message {
	value := bounds.Message{}
	keyValue := bounds.Message{2: value}
	value[5] = bounds.Message{1: value}    // array
	value[6] = bounds.Message{1: keyValue} // list of keys and values
	flat := bounds.Message{}
	profile := bounds.Message{1: flat, 2: flat, 5: flat}
	scope := bounds.Message{1: bounds.Message{3: keyValue}, 2: profile}
	resource := bounds.Message{1: bounds.Message{1: keyValue}, 2: scope}
	dictionary := bounds.Message{
		1: flat, 2: bounds.Message{3: flat}, 3: flat, 4: flat, // 5 is strings
		6: bounds.Message{2: value}, 7: flat,
	}
	return bounds.Message{1: resource, 2: dictionary}
}

// Is reports whether bytes look like messages of protobuf: fields 1 and 2 alone,
// with or without a length before each message.
func Is(data []byte) bool {
	if len(data) > 0 && data[0] == 0 {
		message, _, err := prefixed(data)
		if err != nil {
			return false
		}
		data = message
	}
	fields, err := bounds.Protobuf(data, bounds.Message{})
	for number := range fields {
		if number > 2 {
			return false
		}
	}
	return err == nil && len(fields) > 0
}

// prefixed splits off a message that has its length before it, as four bytes in
// big-endian order: the collector's file exporter writes protobuf so. A message
// that stands alone never begins with a zero byte, and one of 16 MB and more,
// whose length does not either, is beyond what a collector takes.
func prefixed(data []byte) (message, rest []byte, err error) {
	const prefix = 4
	if len(data) < prefix || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-prefix) {
		return nil, nil, errors.New("is cut off")
	}
	end := prefix + int(binary.BigEndian.Uint32(data))
	return data[prefix:end], data[end:], nil
}

// ReadProtobuf reads messages of protobuf.
func ReadProtobuf(data []byte, opts callgraph.Options) ([]*callgraph.Graph, error) {
	if len(data) == 0 {
		return nil, errEmpty
	}
	b := callgraph.NewBuilder(opts)
	if data[0] != 0 {
		if err := add(b, data); err != nil {
			return nil, fmt.Errorf("read OTLP: the message %w", err)
		}
		return graphs(b)
	}
	for n := 1; len(data) > 0; n++ {
		message, rest, err := prefixed(data)
		if err == nil {
			err = add(b, message)
		}
		if err != nil {
			return nil, fmt.Errorf("read OTLP: message %d %w", n, err)
		}
		data = rest
	}
	return graphs(b)
}

func add(b *callgraph.Builder, message []byte) error {
	if _, err := bounds.Protobuf(message, messages()); err != nil {
		return err
	}
	p, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(message)
	if err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	b.Add(p)
	return nil
}

// graphs are one for each sample type. Messages may be there that hold none.
func graphs(b *callgraph.Builder) ([]*callgraph.Graph, error) {
	if b.Empty() {
		return nil, errEmpty
	}
	return b.Graphs(), nil
}
