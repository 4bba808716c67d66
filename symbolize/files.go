package symbolize

import (
	"container/list"
	"os"
	"sync"
)

// pin is a file kept open so that its symbols can be read after the process
// that mapped it is gone and its name leads elsewhere.
type pin struct {
	id   identity
	file *os.File // nil once closed
	refs int      // readers at work
	elem *list.Element
}

// identity tells a file from others and from what it was before it was
// written to.
type identity struct {
	dev, inode          uint64
	size, mtime, change int64 // bytes, nanoseconds
}

// sameContent tells that a file was not written to between two looks at it;
// its names and rights may have changed.
func (a identity) sameContent(b identity) bool {
	a.change, b.change = 0, 0
	return a == b
}

// filePool bounds how many files are open: beyond that, the one used longest
// ago is closed.
type filePool struct {
	mu     sync.Mutex
	max    int
	lru    list.List // of *pin, the newest in front
	closed bool

	scratch scratchPool
}

// add takes over an open file. Like use it keeps the file open until done is
// called.
func (p *filePool) add(f *os.File, id identity) (n *pin, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = &pin{id: id, file: f, refs: 1}
	if p.closed {
		return n, func() { p.done(n) }
	}
	n.elem = p.lru.PushFront(n)
	for e := p.lru.Back(); e != nil && p.lru.Len() > p.max; e = p.lru.Back() {
		p.drop(e.Value.(*pin))
	}
	return n, func() { p.done(n) }
}

// done ends a use of n.
func (p *filePool) done(n *pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.refs--; n.refs == 0 && n.elem == nil {
		n.close()
	}
}

// drop takes n out of the pool; its file is closed as soon as nobody reads it.
func (p *filePool) drop(n *pin) {
	p.lru.Remove(n.elem)
	n.elem = nil
	if n.refs == 0 {
		n.close()
	}
}

func (n *pin) close() {
	n.file.Close() // opened for reading only: there is nothing to lose
	n.file = nil
}

// forget closes the file of n, which may be nil, before it is its turn.
func (p *filePool) forget(n *pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n != nil && n.elem != nil {
		p.drop(n)
	}
}

// use returns the file of n for reading until done is called, or nil if it has
// been closed. n may be nil.
func (p *filePool) use(n *pin) (f *os.File, done func()) {
	if n == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n.elem == nil {
		return nil, nil
	}
	p.lru.MoveToFront(n.elem)
	n.refs++
	return n.file, func() { p.done(n) }
}

func (p *filePool) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lru.Len()
}

// close closes all files that nobody reads, the others when they are done, and
// those that are added later at once.
func (p *filePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for e := p.lru.Back(); e != nil; e = p.lru.Back() {
		p.drop(e.Value.(*pin))
	}
	p.scratch.close()
}
