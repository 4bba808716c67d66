//go:build linux

package event

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flametel/flametel/bpf"
	"github.com/flametel/flametel/receiver/internal/source"
)

func TestUnavailable(t *testing.T) {
	assert.True(t, Unavailable(fmt.Errorf("off_cpu: %w", &bpf.MissingError{Feature: "tracepoint x", Since: "6.1"})))
	assert.False(t, Unavailable(fmt.Errorf("off_cpu: %w", &bpf.PrivilegeError{Err: errors.New("operation not permitted")})))
	assert.False(t, Unavailable(errors.New("out of memory")))
}

func TestDescriptionsAreMadeOnce(t *testing.T) {
	made := 0
	s := New(Kind{Probe: &bpf.Probe{}, Describe: func(s *bpf.Sample) Description {
		made++
		return One("event", source.Label{Key: "k", Text: fmt.Sprint(s.Detail % 2)})
	}}, bpf.Options{})
	leaf, labels := s.Describe(&bpf.Sample{Detail: 1, RecordID: 7})
	again, same := s.Describe(&bpf.Sample{Detail: 1, RecordID: 7, Count: 3})
	assert.Same(t, leaf[0], again[0])
	assert.Same(t, labels, same)
	assert.Equal(t, 1, made)
	_, equal := s.Describe(&bpf.Sample{Detail: 3})
	assert.Same(t, labels, equal, "equal labels are one")
	for i := range uint64(maxDescribed) {
		s.Describe(&bpf.Sample{Detail: 5, RecordID: i})
	}
	assert.LessOrEqual(t, len(s.described), maxDescribed)
}

func TestFilePaths(t *testing.T) {
	words := func(texts ...string) (record []uint64) {
		for _, s := range texts {
			b := append([]byte(s), make([]byte, 8-len(s)%8)...)
			for ; len(b) > 0; b = b[8:] {
				var w uint64
				for i := range 8 {
					w |= uint64(b[i]) << (8 * i)
				}
				record = append(record, w)
			}
		}
		return record
	}
	for want, s := range map[string]bpf.Sample{
		"/etc/passwd":     {Record: words("/etc/passwd")},
		"/srv/app/lib.so": {Record: words("lib.so", "/srv/app")},
		"/x":              {Record: words("x", "/")},
		"/long (cut)":     {Record: words("/long"), Detail: bpf.FileCutPath},
		"[path not read]": {Record: words("/etc"), Detail: bpf.FileNoPath},
	} {
		assert.Equal(t, want, filePath(&s))
	}
	d := DescribeFile(&bpf.Sample{Record: words("/no"), Detail: 257 | 2<<bpf.SyscallErrnoShift})
	var frames []string
	for _, f := range d.Leaf {
		frames = append(frames, f.Lines[0].Name)
	}
	assert.Equal(t, []string{"/no", "error:ENOENT", "syscall:openat"}, frames)
}
