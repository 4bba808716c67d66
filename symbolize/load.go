package symbolize

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/flametel/flametel/symbolize/elffile"
)

// image is what was read of an object's file to name its code. It is immutable.
type image struct {
	segments  []elffile.Segment
	symbols   *elffile.Symbols
	buildID   string // GNU, raw bytes
	goBuildID string
	// reason is why there is nothing, ReasonNone if there is.
	reason Reason
	// foreign tells that the file is no ELF file at all, so that code in it was
	// put there at run time.
	foreign bool
}

func (m *image) bytes() int64 {
	if m.symbols == nil {
		return objectBytes
	}
	return objectBytes + m.symbols.Bytes()
}

// imageOf returns the image of an object and reads it if need be. It returns
// nil if reading takes too long; a later call may find it done.
func (s *Symbolizer) imageOf(o *Object) *image {
	if o.image != nil {
		return o.image
	}
	patience := time.Duration(0)
	if o.loading == nil {
		patience = s.patience.load
		if s.late > 0 {
			patience = s.patience.short
		}
		o.loading = make(chan *image, 1)
		go func() { o.loading <- s.load(o) }()
		s.late++
	}
	img := wait(o.loading, patience)
	if img == nil {
		return nil
	}
	s.late--
	o.loading = nil
	if img.bytes() > s.opts.MaxCacheBytes/2 {
		img = &image{reason: ReasonUnreadable} // one file must not push out all others
	}
	o.image = img
	s.hold(&o.held, o, img.bytes())
	return img
}

// wait receives within the time; nil if there is nothing.
func wait(c <-chan *image, patience time.Duration) *image {
	select {
	case img := <-c:
		return img
	default:
	}
	if patience == 0 {
		return nil
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case img := <-c:
		return img
	case <-t.C:
		return nil
	}
}

// load reads the image of an object. It runs without locks.
func (s *Symbolizer) load(o *Object) *image {
	if o.kind == objectVDSO {
		return readImage(bytes.NewReader(o.data), int64(len(o.data)))
	}
	img, err := s.loadFile(o)
	if err != nil {
		img = &image{reason: ReasonUnreadable}
		o.failed.Store(true)
	}
	return img
}

// loadFile reads the file of an object. An error is one that another process
// that maps the file may not have; whatever its contents cause is in the image.
func (s *Symbolizer) loadFile(o *Object) (*image, error) {
	s.index.mu.Lock()
	pin, from := o.pin, o.origin
	s.index.mu.Unlock()
	f, done := s.files.use(pin)
	if f == nil {
		// It was closed because too many were open. What is found now must be
		// the same file still.
		l, err := s.locate(from)
		if err != nil {
			return nil, err
		}
		if string(l.buildID) != o.key.buildID || o.key.buildID == "" && !l.id.sameContent(o.key.id) {
			l.file.Close()
			return nil, errChanged
		}
		f = l.file
		pin, done = s.files.add(f, l.id)
		s.index.mu.Lock()
		o.pin = pin
		s.index.mu.Unlock()
	}
	defer done()
	before, err := identify(f)
	if err != nil || o.key.buildID == "" && !before.sameContent(o.key.id) {
		return nil, errChanged
	}
	img := readImage(f, before.size)
	if after, err := identify(f); err != nil || !after.sameContent(before) {
		return nil, errChanged
	}
	if o.key.buildID != "" && img.reason == ReasonNone && img.buildID != o.key.buildID {
		return nil, errChanged
	}
	return img, nil
}

var errChanged = errors.New("the file has changed since it was mapped")

// readImage reads an ELF file.
func readImage(r io.ReaderAt, size int64) *image {
	f, err := elffile.New(r, size)
	if err != nil {
		reason := ReasonUnreadable
		if errors.Is(err, elffile.ErrFormat) {
			reason = ReasonMalformed
		}
		return &image{reason: reason, foreign: errors.Is(err, elffile.ErrMagic)}
	}
	ids := f.BuildIDs()
	img := &image{segments: f.Segments(), buildID: string(ids.GNU), goBuildID: ids.Go}
	if len(img.segments) == 0 {
		img.reason = ReasonMalformed
		return img
	}
	if img.symbols, err = f.Symbols(); err != nil && img.symbols.Len() == 0 {
		img.reason = ReasonMalformed
		if errors.Is(err, elffile.ErrTooBig) {
			img.reason = ReasonUnreadable
		}
	}
	return img
}
