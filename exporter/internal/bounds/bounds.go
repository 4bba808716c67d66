// Package bounds finds out before a message of others is decoded whether
// decoding it takes more memory or a deeper stack than its size suggests: an
// empty message of two bytes becomes a structure of a hundred, and one that
// holds itself a million times overflows the stack of a decoder.
package bounds

import (
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// maxMessages is the number of messages or objects within one. A profile of
	// a million stacks has some five million; decoded they take 1 GB.
	maxMessages = 20_000_000
	// maxDepth is how deep messages are nested; profiles reach 10, attributes
	// of a resource may add some.
	maxDepth = 100
)

// Message describes the fields of a protobuf message that are messages
// themselves. Fields that it does not name are bytes to it.
type Message map[int]Message

// errProtobuf says that something is no protobuf message at all.
var errProtobuf = errors.New("is no protobuf message, or a damaged one")

// Protobuf checks an encoded message. Fields is which fields stand at its top.
func Protobuf(data []byte, m Message) (fields map[int]bool, err error) {
	s := &scanner{}
	fields = map[int]bool{}
	if err := s.message(data, m, fields, 0); err != nil {
		return nil, err
	}
	return fields, nil
}

type scanner struct{ messages int }

func (s *scanner) message(data []byte, m Message, top map[int]bool, depth int) error {
	s.messages++
	if s.messages > maxMessages {
		return fmt.Errorf("holds more than %d messages", maxMessages)
	}
	if depth > maxDepth {
		return fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	for len(data) > 0 {
		number, body, rest, err := field(data)
		if err != nil {
			return err
		}
		data = rest
		if top != nil {
			top[number] = true
		}
		if child, ok := m[number]; ok && body != nil {
			if err := s.message(body, child, nil, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Wire types of protobuf (protobuf.dev, Encoding).
const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// field splits the first field off. Body is nil for one that is a number.
func field(data []byte) (number int, body, rest []byte, err error) {
	tag, n := binary.Uvarint(data)
	if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
		return 0, nil, nil, errProtobuf
	}
	data = data[n:]
	size := 0
	switch tag & 7 {
	case wireVarint:
		_, size = binary.Uvarint(data)
		if size <= 0 {
			return 0, nil, nil, errProtobuf
		}
	case wire64:
		size = 8
	case wire32:
		size = 4
	case wireBytes:
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return 0, nil, nil, errProtobuf
		}
		data = data[n:]
		return int(tag >> 3), data[:length:length], data[length:], nil
	default:
		return 0, nil, nil, errProtobuf
	}
	if size > len(data) {
		return 0, nil, nil, errProtobuf
	}
	return int(tag >> 3), nil, data[size:], nil
}

// JSON checks a text of JSON: how many objects and arrays it has, and how deep
// they are nested. Whether it is valid the decoder finds out.
func JSON(text []byte) error {
	depth, objects := 0, 0
	inString, escaped := false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
			objects++
			if depth > maxDepth {
				return fmt.Errorf("is nested more than %d deep", maxDepth)
			}
			if objects > maxMessages {
				return fmt.Errorf("holds more than %d objects and arrays", maxMessages)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
