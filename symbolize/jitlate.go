package symbolize

import (
	"context"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
)

const (
	// maxSettling bounds the processes whose frames without names are
	// remembered for Settle, each of which may hold one descriptor.
	maxSettling = 256
	// maxUnsettled bounds these frames of one process.
	maxUnsettled = 1 << 14
	// unsettledBytes is what one of them takes in its map.
	unsettledBytes = 24
)

// Settle looks for the names of generated code that were missing when a stack
// was named, in what runtimes have written since: some write late, and some only
// when they end (java -XX:+DumpPerfMapAtExit). It returns the frames that were
// handed out without a name since the last Settle, each with the one to put in
// its place; frames that are still unnamed are not among them. Code that shares
// its address with other code written of meanwhile stays unnamed. Call it
// before samples are given away; it waits for files for no longer than patience.
func (s *Symbolizer) Settle(patience time.Duration) map[*Frame]*Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick++
	s.began = time.Time{}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	list := s.settling
	s.settling = nil
	for _, j := range list {
		if len(j.unsettled) > 0 && j.reading == nil && !s.stackTime().Before(j.paid) {
			s.startReading(j.image, j, s.stackTime())
		}
	}
	names := make(map[*Frame]*Frame)
	for _, j := range list {
		s.settle(ctx, j, names)
		j.listed = false
		if j.reading != nil || j.place != nil {
			s.list(j)
		}
	}
	s.early.settle()
	s.shrink()
	return names
}

// settle adds the names of one process and forgets what was asked for.
func (s *Symbolizer) settle(ctx context.Context, j *jitState, names map[*Frame]*Frame) {
	asked := j.unsettled
	if len(asked) > 0 && j.reading != nil {
		select {
		case r := <-j.reading:
			s.finishJIT(j, r)
		case <-ctx.Done():
		}
	}
	s.pollJIT(j)
	if j.unsettled = nil; len(asked) > 0 {
		s.hold(&j.held, j, -int64(len(asked))*unsettledBytes)
	}
	if j.reading != nil {
		return // too late for these
	}
	if j.reader != nil {
		for f := range asked {
			if named := s.nameLate(j, f); named != nil {
				names[f] = named
			}
		}
		j.reader.Watch(nil)
	}
	if len(asked) == 0 {
		j.leave()
	}
}

// nameLate returns a frame with the name of code that had none, nil if it still
// has none.
func (s *Symbolizer) nameLate(j *jitState, f *Frame) *Frame {
	at := addr.Virtual(f.Address)
	if j.reader.Contested(at) || j.dump.Contested(at) {
		return nil
	}
	if g := j.frames[at]; g != nil && len(g.Lines) > 0 && g.Module.Path == f.Module.Path {
		return g
	}
	c, ok := j.find(at)
	if !ok {
		return nil
	}
	g := &Frame{Kind: KindJIT, Module: f.Module, Address: f.Address}
	bytes := frameBytes + s.nameGenerated(j, g, &c)
	if j.frames == nil {
		j.frames = make(map[addr.Virtual]*Frame)
	}
	j.frames[at] = g
	s.hold(&j.held, j, bytes)
	return g
}

// await remembers a frame for Settle if it has no name.
func (s *Symbolizer) await(j *jitState, f *Frame) {
	if len(f.Lines) > 0 || len(j.unsettled) >= maxUnsettled {
		return
	}
	if _, ok := j.unsettled[f]; ok || !s.list(j) {
		return
	}
	if j.unsettled == nil {
		j.unsettled = make(map[*Frame]struct{})
	}
	j.unsettled[f] = struct{}{}
	s.hold(&j.held, j, unsettledBytes)
}

// list enters a process in those that Settle looks at, if there is room.
func (s *Symbolizer) list(j *jitState) bool {
	if !j.listed && len(s.settling) < maxSettling && s.ctx.Err() == nil {
		j.listed = true
		s.settling = append(s.settling, j)
	}
	return j.listed
}

// unsettledAt returns the addresses of the frames without names.
func (j *jitState) unsettledAt() []addr.Virtual {
	at := make([]addr.Virtual, 0, len(j.unsettled))
	for f := range j.unsettled {
		at = append(at, addr.Virtual(f.Address))
	}
	return at
}

// leaveAll closes the places of all maps, and those that are being used when
// they no longer are.
func (s *Symbolizer) leaveAll() {
	for _, j := range s.settling {
		if reading := j.reading; reading != nil {
			go func() {
				r := <-reading
				r.place.Close()
			}()
		}
		j.leave()
		j.listed = false
	}
	s.settling = nil
}
