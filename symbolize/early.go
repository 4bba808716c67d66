package symbolize

import "time"

const (
	// youngAge is how long after it was written a file is likely to be written
	// again: programs that are built, run and built again in place.
	youngAge = 2 * time.Second
	// What is read early is bounded by the size of the file, the number of images
	// that wait to be asked for and the bytes of each: most never are.
	maxEarlyFile   = 32 << 20
	maxEarlyImages = 16
	maxEarlyBytes  = 1 << 20
	maxEarlyTasks  = 2
)

// earlyImage is an image that is read before anybody asks for it.
type earlyImage struct{ done chan *image }

// readEarly has the symbols of a file read at once if it was written just
// before it was mapped. They would be gone if it were overwritten in place
// before a sample is named, which may take a second. Guarded by index.mu.
func (s *Symbolizer) readEarly(o *Object) {
	x := &s.index
	age := s.now().Sub(time.Unix(0, o.key.id.mtime))
	if age > youngAge || age < -youngAge || o.key.id.size > maxEarlyFile || x.earlyTasks >= maxEarlyTasks || s.ctx.Err() != nil {
		return
	}
	if x.early = append(x.early, o); len(x.early) > maxEarlyImages {
		x.early[0].early.Store(nil)
		x.early = append(x.early[:0], x.early[1:]...)
	}
	e := &earlyImage{make(chan *image, 1)}
	o.early.Store(e)
	x.earlyTasks++
	go func() {
		img := s.load(o, nil)
		x.mu.Lock()
		x.earlyTasks--
		x.mu.Unlock()
		if img.bytes() > maxEarlyBytes && o.early.CompareAndSwap(e, nil) {
			return // nobody waits for it
		}
		e.done <- img
	}()
}
