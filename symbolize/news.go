package symbolize

import "time"

// newsInterval is the least time between two readings of objects whose debug
// files were fetched: many arrive at a time, and each reading starts over.
const newsInterval = 5 * time.Second

// lookForNews has the objects read again whose debug file may have arrived.
func (s *Symbolizer) lookForNews() {
	if len(s.awaited) == 0 || s.opts.Fetcher.Generation() == s.news {
		return
	}
	now := s.stackTime()
	if now.Sub(s.asked) < newsInterval {
		return
	}
	s.asked, s.news = now, s.opts.Fetcher.Generation()
	objects := s.awaited
	s.awaited = nil
	for _, o := range objects {
		if o.image != nil && o.image.awaited {
			o.release()
			s.hold(&o.held, o, -o.held.bytes)
		}
	}
}
