package debuginfo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// errXZ is wrapped by each error that packed data causes.
var errXZ = errors.New("not usable xz data")

const (
	xzHeaderSize = 12
	// maxBlocks is far more than encoders make of MaxMini bytes: they cut
	// blocks of some megabytes, and only with several threads.
	maxBlocks = 256
	// chunkBytes and fewChunks bound how many LZMA2 chunks there may be. Each
	// may cost some 20 KB of tables, whatever its size; those of encoders have
	// nearly 64 KiB packed or 2 MiB unpacked.
	chunkBytes = 1 << 10
	fewChunks  = 1 << 10
)

var le = binary.LittleEndian

// unpack returns the contents of the xz stream in b, at most limit bytes.
//
// The container is walked before anything is unpacked
// (https://tukaani.org/xz/xz-file-format.txt): the headers of LZMA2 chunks
// tell how long everything is, so the output is allocated once, and no
// dictionary is larger than its block. What the stream claims elsewhere, in
// the block headers and the index, is not needed and not believed; the check
// of each block's contents decides.
func unpack(b []byte, limit int) ([]byte, error) {
	blocks, newCheck, err := walk(b, limit)
	if err != nil {
		return nil, err
	}
	total := 0
	for i := range blocks {
		total += blocks[i].size
	}
	out := make([]byte, total)
	rest := out
	for i := range blocks {
		if err := blocks[i].unpack(rest[:blocks[i].size], newCheck); err != nil {
			return nil, fmt.Errorf("%w: block %d: %w", errXZ, i, err)
		}
		rest = rest[blocks[i].size:]
	}
	return out, nil
}

// xzBlock is a block of an xz stream.
type xzBlock struct {
	packed     []byte // LZMA2 chunks with the end marker
	check      []byte
	dictionary uint64
	size       int // unpacked
}

// walk finds the blocks of the stream, which hold limit bytes at most.
func walk(b []byte, limit int) ([]xzBlock, func() hash.Hash, error) {
	if len(b) < xzHeaderSize || string(b[:6]) != "\xfd7zXZ\x00" {
		return nil, nil, fmt.Errorf("%w: it begins otherwise", errXZ)
	}
	if b[6] != 0 || crc32.ChecksumIEEE(b[6:8]) != le.Uint32(b[8:]) {
		return nil, nil, fmt.Errorf("%w: damaged stream header", errXZ)
	}
	newCheck, err := checkOf(b[7])
	if err != nil {
		return nil, nil, err
	}
	chunksLeft := fewChunks + len(b)/chunkBytes
	var blocks []xzBlock
	for pos := xzHeaderSize; ; {
		if pos >= len(b) {
			return nil, nil, fmt.Errorf("%w: it ends before its index", errXZ)
		}
		if b[pos] == 0 { // the index follows the last block
			return blocks, newCheck, nil
		}
		if len(blocks) == maxBlocks {
			return nil, nil, fmt.Errorf("%w: more than %d blocks", errXZ, maxBlocks)
		}
		block, next, chunks, err := nextBlock(b, pos, newCheck().Size(), limit)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: block %d: %w", errXZ, len(blocks), err)
		}
		if chunksLeft -= chunks; chunksLeft < 0 {
			return nil, nil, fmt.Errorf("%w: too many chunks in %d bytes", errXZ, len(b))
		}
		limit -= block.size
		blocks = append(blocks, block)
		pos = next
	}
}

// nextBlock takes the block at pos apart. next is where the following one is.
func nextBlock(b []byte, pos, checkSize, limit int) (x xzBlock, next, chunks int, err error) {
	headerSize := (int(b[pos]) + 1) * 4
	if headerSize > len(b)-pos {
		return x, 0, 0, io.ErrUnexpectedEOF
	}
	header := b[pos : pos+headerSize]
	if x.dictionary, err = dictionaryOf(header); err != nil {
		return x, 0, 0, err
	}
	pos += headerSize
	packed := 0
	packed, x.size, chunks, err = walkChunks(b[pos:], limit)
	if err != nil {
		return x, 0, 0, err
	}
	x.packed = b[pos : pos+packed]
	pos += (packed + 3) &^ 3
	if checkSize > len(b)-pos {
		return x, 0, 0, io.ErrUnexpectedEOF
	}
	x.check = b[pos : pos+checkSize]
	return x, pos + checkSize, chunks, nil
}

// dictionaryOf checks a block header and returns the size of the dictionary
// that its only filter, LZMA2, was used with.
func dictionaryOf(header []byte) (uint64, error) {
	body := header[:len(header)-4]
	if crc32.ChecksumIEEE(body) != le.Uint32(header[len(body):]) {
		return 0, errors.New("damaged header")
	}
	flags := body[1]
	if flags&0x3f != 0 { // filters besides the first, reserved bits
		return 0, errors.New("a filter other than LZMA2")
	}
	rest := body[2:]
	for _, present := range []byte{0x40, 0x80} { // packed and unpacked size
		if flags&present == 0 {
			continue
		}
		_, n := binary.Uvarint(rest)
		if n <= 0 {
			return 0, errors.New("damaged size")
		}
		rest = rest[n:]
	}
	const lzma2 = 0x21
	if len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1 || rest[2] > 40 {
		return 0, errors.New("a filter other than LZMA2")
	}
	if rest[2] == 40 {
		return 1<<32 - 1, nil
	}
	return (2 | uint64(rest[2]&1)) << (rest[2]/2 + 11), nil
}

// walkChunks returns the length of the LZMA2 data at the start of b with its
// end marker, and how much it unpacks to, which is limit at most.
func walkChunks(b []byte, limit int) (packed, size, chunks int, err error) {
	for pos := 0; ; chunks++ {
		if pos >= len(b) {
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
		control := b[pos]
		if control == 0 {
			return pos + 1, size, chunks, nil
		}
		head, body := 3, 0
		switch {
		case control >= 0xc0:
			head = 6
		case control >= 0x80:
			head = 5
		case control > 2:
			return 0, 0, 0, errors.New("damaged chunk")
		}
		if head > len(b)-pos {
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
		n := int(binary.BigEndian.Uint16(b[pos+1:])) + 1
		body = n
		if control >= 0x80 {
			n += int(control&0x1f) << 16
			body = int(binary.BigEndian.Uint16(b[pos+3:])) + 1
		}
		if n > limit-size {
			return 0, 0, 0, fmt.Errorf("more than the %d bytes that are unpacked", limit)
		}
		size += n
		if body > len(b)-pos-head {
			return 0, 0, 0, io.ErrUnexpectedEOF
		}
		pos += head + body
	}
}

// unpack fills out, which has the size of the block.
func (x *xzBlock) unpack(out []byte, newCheck func() hash.Hash) error {
	// A dictionary larger than the block is never used beyond that.
	dictionary := min(x.dictionary, uint64(len(out)))
	config := lzma.Reader2Config{DictCap: max(int(dictionary), lzma.MinDictCap)}
	r, err := config.NewReader2(bytes.NewReader(x.packed))
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(r, out); err != nil {
		return err
	}
	h := newCheck()
	h.Write(out)
	if !bytes.Equal(sum(h), x.check) {
		return errors.New("its contents do not match its check")
	}
	return nil
}
