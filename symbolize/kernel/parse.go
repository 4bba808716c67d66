package kernel

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// maxLine is longer than KSYM_NAME_LEN (512 since 6.1) with its address and
	// module.
	maxLine = 2048
	// maxSymbols and maxNames bound what is held; kernels have 100 to 300
	// thousand symbols of about 20 bytes.
	usualSymbols = 1 << 17 // room made at the start
	maxSymbols   = 4 << 20
	maxNames     = 128 << 20
)

// ErrTooBig tells that the list of symbols is longer than any kernel's.
var ErrTooBig = errors.New("kernel symbol list is too big")

// symbol is a line of the list before names are chosen.
type symbol struct {
	addr   uint64
	name   uint32 // place in the names
	length uint16
	module uint16
	rank   rank
}

// rank orders symbols of the same address; less is better.
type rank uint8

const (
	rankGlobal rank = iota // T
	rankLocal              // t
	rankWeak               // W, w
	rankPrefix             // padding in front of a function, part of it
	rankEnd                // ends the symbol before it and names nothing
)

// parser reads the list.
type parser struct {
	symbols []symbol
	names   []byte
	modules []string // [0] is the kernel itself
	shown   int      // code symbols whose address is not hidden
}

// Parse reads the format of /proc/kallsyms:
//
//	ffffffff81000000 T _stext
//	ffffffffc0201000 t nf_hook_slow	[nf_tables]
//
// Lines that make no sense are left out.
func Parse(r io.Reader) (*Table, error) {
	p := parser{modules: []string{""}, symbols: make([]symbol, 0, usualSymbols), names: make([]byte, 0, 16*usualSymbols)}
	br := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := br.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
			if err = skipLine(br, err); err != nil && err != io.EOF {
				return nil, fmt.Errorf("read kernel symbols: %w", err)
			}
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read kernel symbols: %w", err)
		default:
			p.line(bytes.TrimSuffix(line, []byte{'\n'}))
		}
		if len(p.symbols) > maxSymbols || len(p.names) > maxNames {
			return nil, fmt.Errorf("read kernel symbols: %w", ErrTooBig)
		}
		if err == io.EOF {
			return p.table(), nil
		}
	}
}

func skipLine(br *bufio.Reader, err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = br.ReadSlice('\n')
	}
	return err
}

func (p *parser) line(line []byte) {
	addr, rest, ok := hex(line)
	if !ok || len(rest) < 3 || rest[0] != ' ' || rest[2] != ' ' {
		return
	}
	name, module, _ := bytes.Cut(rest[3:], []byte{'\t'})
	r, keep := classify(rest[1], name)
	if !keep || addr == 0 {
		return
	}
	if r < rankPrefix {
		p.shown++
	}
	s := symbol{addr: addr, rank: r, module: p.module(module)}
	if r < rankPrefix {
		s.name, s.length = uint32(len(p.names)), uint16(len(name))
		p.names = append(p.names, name...)
	}
	p.symbols = append(p.symbols, s)
}

// classify tells what a symbol is good for; keep is false for marks inside of
// functions, which neither name nor end anything.
func classify(typ byte, name []byte) (r rank, keep bool) {
	switch {
	case len(name) == 0 || name[0] == '.' || name[0] == '$' || bytes.IndexByte(name, 0) >= 0:
		return rankEnd, false // .L labels of compilers, mapping symbols of arm64, damage
	case bytes.HasPrefix(name, []byte("__pfx_")), bytes.HasPrefix(name, []byte("__cfi_")):
		// Padding and type hashes (CONFIG_FUNCTION_PADDING_CFI, CALL_PADDING).
		return rankPrefix, true
	case isSectionMark(name):
		return rankEnd, true
	}
	switch typ {
	case 'T':
		return rankGlobal, true
	case 't':
		return rankLocal, true
	case 'W', 'w':
		return rankWeak, true
	}
	return rankEnd, true
}

// isSectionMark tells names that linker scripts give to the bounds of sections
// (include/asm-generic/vmlinux.lds.h).
func isSectionMark(name []byte) bool {
	switch string(name) {
	case "_text", "__pi__text", "_stext", "_etext", "_sinittext", "_einittext", "_end",
		"__indirect_thunk_start", "__indirect_thunk_end", "__init_begin", "__init_end",
		"__bss_stop", "_sdata", "_edata":
		return true
	}
	return bytes.HasPrefix(name, []byte("__")) &&
		(bytes.HasSuffix(name, []byte("_text_start")) || bytes.HasSuffix(name, []byte("_text_end")))
}

// module returns the number of a module named in brackets.
func (p *parser) module(name []byte) uint16 {
	if len(name) < 3 || name[0] != '[' || name[len(name)-1] != ']' {
		return 0
	}
	// Symbols of a module stand together, so the last one is most likely it.
	for i := len(p.modules) - 1; i > 0; i-- {
		if p.modules[i] == string(name) {
			return uint16(i)
		}
	}
	if len(p.modules) == 1<<16 {
		return 0
	}
	p.modules = append(p.modules, strings.Clone(string(name)))
	return uint16(len(p.modules) - 1)
}

func hex(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && i < 16; i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			return v, b[i:], i > 0
		}
	}
	return v, b[i:], i > 0
}
