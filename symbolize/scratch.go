package symbolize

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/flametel/flametel/symbolize/dwarfline"
)

const (
	// maxScratchBytes bounds what all files for unpacked debug information take
	// on disk. That of a browser's engine is some 2 GB, of libLLVM 700 MB.
	maxScratchBytes = 1 << 30
	// scratchShare is the part of what is free that they may take.
	scratchShare = 4
)

// scratchPool gives files for the contents of compressed sections that are too
// large for memory. They have no name, so that nothing stays when the profiler
// is killed.
type scratchPool struct {
	mu     sync.Mutex
	used   int64
	files  map[*scratchFile]struct{}
	closed bool
}

// scratchFile is one of them. Only the goroutine that unpacks writes.
type scratchFile struct {
	*os.File
	pool *scratchPool
	size int64 // reserved
	left int64 // that may be written yet
}

var errNoScratch = errors.New("no room to unpack debug information on disk")

// make returns a file for size bytes.
func (p *scratchPool) make(size int64) (dwarfline.Scratch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || size > maxScratchBytes-p.used {
		return nil, fmt.Errorf("%w: %d bytes, %d of %d are in use", errNoScratch, size, p.used, int64(maxScratchBytes))
	}
	errs := []error{errNoScratch}
	for _, dir := range []string{"/var/tmp", os.TempDir()} { // the first is on a disk, where the other may be memory
		f, err := unnamed(dir, size)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s := &scratchFile{File: f, pool: p, size: size, left: size}
		p.add(s)
		return s, nil
	}
	return nil, errors.Join(errs...)
}

// unnamed makes a file that has no name, if size bytes are not too much for
// its file system.
func unnamed(dir string, size int64) (*os.File, error) {
	free, err := freeBytes(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if size > free/scratchShare {
		return nil, fmt.Errorf("%s: %d bytes are too much where %d are free", dir, size, free)
	}
	f, err := os.CreateTemp(dir, "flametel-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (p *scratchPool) add(f *scratchFile) {
	if p.files == nil {
		p.files = make(map[*scratchFile]struct{})
	}
	p.files[f] = struct{}{}
	p.used += f.size
}

func (f *scratchFile) Write(b []byte) (int, error) {
	if int64(len(b)) > f.left {
		return 0, errNoScratch
	}
	n, err := f.File.Write(b)
	f.left -= int64(n)
	return n, err
}

// Close gives the room back; more than once is no harm.
func (f *scratchFile) Close() error {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	return f.pool.drop(f)
}

func (p *scratchPool) drop(f *scratchFile) error {
	if _, ok := p.files[f]; !ok {
		return nil
	}
	delete(p.files, f)
	p.used -= f.size
	return f.File.Close()
}

// close gives all back, and lets none be made any more.
func (p *scratchPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for f := range p.files {
		_ = p.drop(f) // nothing in it is needed any more
	}
}
