// Package otlpcheck holds OTLP profiles to the rules of their protocol. It
// reads the bytes that a collector sent with the official protobuf package, so
// it shares nothing with the code that wrote them. It serves tests.
//
// The rules are those of the comments in opentelemetry-proto's profiles.proto
// (v1development) and of the semantic conventions: index 0 of every table is
// the zero value, every index is in range, entries are unique and in use,
// samples have one of the legal shapes and a unique identity, times lie within
// the profile.
package otlpcheck
