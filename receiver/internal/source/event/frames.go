//go:build linux

package event

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/sysname"
	"github.com/flametel/flametel/symbolize"
)

// noModule is where frames lie that are no code.
var noModule = &symbolize.Module{}

// Frame makes a frame that says what happened. Its kind tells it from code that
// is called the same.
func Frame(name string) *symbolize.Frame {
	return &symbolize.Frame{Kind: symbolize.KindEvent, Module: noModule, Lines: []symbolize.Line{{Name: name}}}
}

// One describes a sample by one frame and one attribute.
func One(frame string, label source.Label) Description {
	return Description{Leaf: []*symbolize.Frame{Frame(frame)}, Labels: []source.Label{label}}
}

// Attribute keys of samples. error.type is of the OpenTelemetry semantic
// conventions; they have none for system calls.
const (
	KeyError   = "error.type"
	KeySyscall = "flametel.syscall"
)

// SyscallFrame is the frame of a system call.
func SyscallFrame(nr uint32, compat bool) *symbolize.Frame {
	return Frame("syscall:" + sysname.Name(nr, compat))
}

// SyscallLabel says which system call it was.
func SyscallLabel(nr uint32, compat bool) source.Label {
	return source.Label{Key: KeySyscall, Text: sysname.Name(nr, compat)}
}

// ErrorLabel says which error a call returned.
func ErrorLabel(errno uint32) source.Label {
	return source.Label{Key: KeyError, Text: sysname.Error(errno)}
}

// Texts takes the texts out of a record: words that hold bytes, each text ended
// by a zero byte and filled up with more.
func Texts(record []uint64) []string {
	raw := make([]byte, 0, 8*len(record))
	for _, w := range record {
		raw = binary.NativeEndian.AppendUint64(raw, w)
	}
	var texts []string
	for len(raw) > 0 {
		text, rest, _ := bytes.Cut(raw, []byte{0})
		if len(text) > 0 {
			texts = append(texts, strings.Clone(string(text)))
		}
		raw = bytes.TrimLeft(rest, "\x00")
	}
	return texts
}
