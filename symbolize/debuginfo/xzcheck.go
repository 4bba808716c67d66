package debuginfo

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"slices"
)

// checkOf returns the check of an xz stream by its number in the stream flags.
func checkOf(number byte) (func() hash.Hash, error) {
	switch number {
	case 0:
		return func() hash.Hash { return noCheck{} }, nil
	case 1:
		return func() hash.Hash { return crc32.NewIEEE() }, nil
	case 4:
		table := crc64.MakeTable(crc64.ECMA)
		return func() hash.Hash { return crc64.New(table) }, nil
	case 10:
		return sha256.New, nil
	}
	return nil, fmt.Errorf("%w: check %d is not known", errXZ, number)
}

// sum returns a check as it stands in the stream: the CRCs little-endian.
func sum(h hash.Hash) []byte {
	b := h.Sum(nil)
	if len(b) <= 8 {
		slices.Reverse(b)
	}
	return b
}

// noCheck is the hash of streams without a check.
type noCheck struct{}

func (noCheck) Write(b []byte) (int, error) { return len(b), nil }
func (noCheck) Sum(b []byte) []byte         { return b }
func (noCheck) Reset()                      {}
func (noCheck) Size() int                   { return 0 }
func (noCheck) BlockSize() int              { return 1 }
