package pdatabuild

import "math/bits"

// The sizes below are those of the protobuf encoding of OTLP profiles
// (opentelemetry/proto/profiles/v1development/profiles.proto). All field
// numbers in it are below 16, so each tag is one byte.

// varintSize is the size of a number encoded as varint.
func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// scalarSize is the size of a number field; zero is not encoded.
func scalarSize(n uint64) int {
	if n == 0 {
		return 0
	}
	return 1 + varintSize(n)
}

// nestedSize is the size of a field that holds n bytes: a message, a string or
// a packed list.
func nestedSize(n int) int { return 1 + varintSize(uint64(n)) + n }

// indicesSize is the size of a packed list of indices, none if it is empty.
func indicesSize(indices []int32) int {
	if len(indices) == 0 {
		return 0
	}
	n := 0
	for _, i := range indices {
		n += varintSize(uint64(i))
	}
	return nestedSize(n)
}
