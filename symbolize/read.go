package symbolize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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
	st, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", o.key.path, err)
	}
	return use(f, st.Size())
}

// IsFile tells whether the code of an object comes from a file, or from the
// kernel's vDSO, which is like one.
func (o *Object) IsFile() bool { return o.kind == objectFile || o.kind == objectVDSO }
