package symbolize

import (
	"errors"
	"os"
)

// source is a file of which little is read over a long time. It is open only
// while it is in use, by one goroutine at a time.
type source struct {
	open func() (f *os.File, done func(), err error)
	id   identity // what it was when it was read first
	file *os.File // nil while it is not in use
}

var errNotInUse = errors.New("the file is not open")

// ReadAt reads while the source is in use.
func (c *source) ReadAt(b []byte, off int64) (int, error) {
	if c.file == nil {
		return 0, errNotInUse
	}
	return c.file.ReadAt(b, off)
}

// use opens the file, which must be what it was, until done is called.
func (c *source) use() (done func(), err error) {
	f, release, err := c.open()
	if err != nil {
		return nil, err
	}
	if now, err := identify(f); err != nil || !now.sameContent(c.id) {
		release()
		return nil, errChanged
	}
	c.file = f
	return func() {
		c.file = nil
		release()
	}, nil
}

// pinned returns a source for an open file, which it takes over; again opens it
// when the pool has closed it.
func (s *Symbolizer) pinned(f *os.File, again func() (*os.File, error)) (*source, error) {
	id, err := identify(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	pin, done := s.files.add(f, id)
	done()
	open := func() (*os.File, func(), error) {
		if f, done := s.files.use(pin); f != nil {
			return f, done, nil
		}
		f, err := again()
		if err != nil {
			return nil, nil, err
		}
		p, done := s.files.add(f, id)
		pin = p
		return f, done, nil
	}
	return &source{open: open, id: id}, nil
}

// useFile returns the open file of an object until done is called.
func (s *Symbolizer) useFile(o *Object) (f *os.File, done func(), err error) {
	s.index.mu.Lock()
	pin, from := o.pin, o.origin
	s.index.mu.Unlock()
	if f, done := s.files.use(pin); f != nil {
		return f, done, nil
	}
	// It was closed because too many were open. What is found now must be the
	// same file still.
	l, err := s.locate(from)
	if err != nil {
		return nil, nil, err
	}
	if string(l.buildID) != o.key.buildID || o.key.buildID == "" && !l.id.sameContent(o.key.id) {
		l.file.Close()
		return nil, nil, errChanged
	}
	pin, done = s.files.add(l.file, l.id)
	s.index.mu.Lock()
	o.pin = pin
	s.index.mu.Unlock()
	return l.file, done, nil
}

var errChanged = errors.New("the file has changed since it was mapped")
