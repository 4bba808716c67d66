package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/flametel/flametel/symbolize/elffile"
)

// errNoFile is what Read returns for memory that is no file.
var errNoFile = errors.New("it is no file")

// Read calls use with the contents of an object, for what else can be learnt
// from it than names. It may be called from any goroutine. The reader is valid
// until use returns.
func (s *Symbolizer) Read(o *Object, use func(r io.ReaderAt, size int64) error) error {
	switch o.kind {
	case objectVDSO:
		return use(bytes.NewReader(o.data), int64(len(o.data)))
	case objectLost:
		return fmt.Errorf("read %s: %w", o.key.path, o.lost)
	case objectFile:
	default:
		return fmt.Errorf("read %s: %w", o.key.path, errNoFile)
	}
	f, done, err := s.useFile(o)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	defer done()
	before, err := identify(f)
	if err == nil && o.key.buildID == "" && !before.sameContent(o.key.id) {
		err = errChanged
	}
	if err == nil {
		err = use(f, before.size)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	if after, err := identify(f); err != nil || !after.sameContent(before) {
		return fmt.Errorf("read %s: %w", o.key.path, errChanged)
	}
	return nil
}

// ReadDebug calls use with the separate debug file of an object, if there is
// one that is its own: by build ID, by debug link, or fetched. Like Read it may
// be called from any goroutine.
func (s *Symbolizer) ReadDebug(o *Object, use func(f *elffile.File, r io.ReaderAt) error) error {
	if o.kind != objectFile {
		return fmt.Errorf("read the debug file of %s: %w", o.key.path, errNoFile)
	}
	f, done, err := s.useFile(o)
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	defer done()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	program, err := elffile.New(f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	s.index.mu.Lock()
	pid := o.origin.pid
	s.index.mu.Unlock()
	r := reading{s: s, path: o.key.path, pid: pid, info: info}
	separate := r.separate(program, &image{buildID: string(program.BuildIDs().GNU)})
	if separate == nil {
		return fmt.Errorf("read the debug file of %s: %w", o.key.path, errNoDebugFile)
	}
	defer separate.done()
	return use(separate.file, separate.source)
}

var errNoDebugFile = errors.New("there is none")

// IsFile tells whether the code of an object comes from a file, or from the
// kernel's vDSO, which is like one.
func (o *Object) IsFile() bool { return o.kind == objectFile || o.kind == objectVDSO }
