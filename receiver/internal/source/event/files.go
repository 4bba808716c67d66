//go:build linux

package event

import (
	"path"
	"strings"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
)

// KeyPath is the path of a file (OpenTelemetry semantic conventions).
const KeyPath = "file.path"

// What stands for a path that is not known, and behind one that was cut.
const (
	noPath  = "[path not read]"
	cutPath = " (cut)"
)

// DescribeFile describes a system call on a file: the path is the leaf, the
// error below it, if there is one, and the call below that.
func DescribeFile(s *bpf.Sample) Description {
	nr, is32 := uint32(s.Detail), s.Detail&bpf.SyscallCompat != 0
	name := filePath(s)
	d := Description{Labels: []source.Label{SyscallLabel(nr, is32), {Key: KeyPath, Text: name}}}
	d.Leaf = append(d.Leaf, Frame(name))
	if errno := s.Detail >> bpf.SyscallErrnoShift & bpf.SyscallErrnoMask; errno != 0 {
		label := ErrorLabel(uint32(errno))
		d.Leaf = append(d.Leaf, Frame("error:"+label.Text))
		d.Labels = append(d.Labels, label)
	}
	d.Leaf = append(d.Leaf, SyscallFrame(nr, is32))
	return d
}

// filePath joins a relative path with the folder it is relative to. It is not
// cleaned: two ways to name a file differ.
func filePath(s *bpf.Sample) string {
	texts := Texts(s.Record)
	if s.Detail&bpf.FileNoPath != 0 || len(texts) == 0 {
		return noPath
	}
	name := texts[0]
	if len(texts) > 1 && !path.IsAbs(name) {
		name = strings.TrimSuffix(texts[1], "/") + "/" + name
	}
	if s.Detail&bpf.FileCutPath != 0 {
		name += cutPath
	}
	return name
}
