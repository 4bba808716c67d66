package choose

import (
	"regexp"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Frames says which frames of a stack are kept. Samples that have none of them
// are left out.
type Frames string

// The frames to keep.
const (
	All    Frames = "all"
	Kernel Frames = "kernel"
	User   Frames = "user"
)

// Choice says what is kept. The zero value keeps everything.
type Choice struct {
	// Include keeps only stacks that have a frame whose name matches; the names
	// of the process and of the thread count as well. Nil keeps all.
	Include *regexp.Regexp
	// Exclude leaves out stacks that have such a frame, whatever Include says.
	Exclude *regexp.Regexp
	// Frames is All if empty.
	Frames Frames
}

// KeepsAll reports whether there is nothing to choose.
func (c *Choice) KeepsAll() bool {
	return c.Include == nil && c.Exclude == nil && (c.Frames == "" || c.Frames == All)
}

// Apply removes from p what is not kept, and adds to p an account of it. P must
// be the caller's own.
func (c *Choice) Apply(p pprofile.Profiles) {
	if c.KeepsAll() {
		return
	}
	s := newSieve(c, p.Dictionary())
	left := map[account]int64{}
	for _, rp := range p.ResourceProfiles().All() {
		attrs := rp.Resource().Attributes()
		if callgraph.IsAccounting(attrs) {
			continue
		}
		s.process = callgraph.ProcessOf(attrs)
		for _, sp := range rp.ScopeProfiles().All() {
			for _, prof := range sp.Profiles().All() {
				if n := s.sift(prof); n > 0 {
					left[accountOf(attrs, prof)] += n
				}
			}
		}
	}
	addAccounts(p, left)
}

// sieve holds what was found out about the tables of one message, so that each
// stack and name is looked at once.
type sieve struct {
	*Choice
	dict    pprofile.ProfilesDictionary
	reader  *callgraph.Reader
	process string // of the samples at hand

	names  map[string]verdict // of processes and threads
	frames []verdict          // by number of the reader
	stacks map[int32]verdict  // of their functions alone
	cut    map[int32]int32    // stack with the kept frames only, -1 for none
	made   map[string]int32   // the same by its locations
	path   []int32
}

// verdict says what the expressions match.
type verdict uint8

const (
	judged verdict = 1 << iota
	included
	excluded
)

func newSieve(c *Choice, dict pprofile.ProfilesDictionary) *sieve {
	return &sieve{
		Choice: c, dict: dict, reader: callgraph.NewReader(dict),
		names: map[string]verdict{}, stacks: map[int32]verdict{}, cut: map[int32]int32{}, made: map[string]int32{},
	}
}

// sift removes samples from a profile and returns what they count.
func (s *sieve) sift(prof pprofile.Profile) (left int64) {
	prof.Samples().RemoveIf(func(sample pprofile.Sample) bool {
		if s.keeps(sample) {
			return false
		}
		if v, ok := callgraph.Value(sample); ok {
			left += v
		}
		return true
	})
	return left
}

// keeps judges a sample by its whole stack, then cuts it.
func (s *sieve) keeps(sample pprofile.Sample) bool {
	if s.Include != nil || s.Exclude != nil {
		v := s.stack(sample.StackIndex()) | s.name(s.process)
		if thread, _ := s.reader.Thread(sample); thread != "" {
			v |= s.name(thread)
		}
		if v&excluded != 0 || s.Include != nil && v&included == 0 {
			return false
		}
	}
	if s.Frames == "" || s.Frames == All {
		return true
	}
	cut := s.cutStack(sample.StackIndex())
	sample.SetStackIndex(max(cut, 0))
	return cut >= 0
}

func (s *sieve) judge(name string) verdict {
	v := judged
	if s.Include != nil && s.Include.MatchString(name) {
		v |= included
	}
	if s.Exclude != nil && s.Exclude.MatchString(name) {
		v |= excluded
	}
	return v
}

func (s *sieve) name(name string) verdict {
	v := s.names[name]
	if v == 0 {
		v = s.judge(name)
		s.names[name] = v
	}
	return v
}

// stack joins the verdicts about the frames of a stack.
func (s *sieve) stack(index int32) verdict {
	v, known := s.stacks[index]
	if known {
		return v
	}
	s.path = s.reader.Stack(index, s.path[:0])
	if grow := s.reader.Frames() - len(s.frames); grow > 0 {
		s.frames = append(s.frames, make([]verdict, grow)...)
	}
	for _, f := range s.path {
		if s.frames[f] == 0 {
			s.frames[f] = s.judge(s.reader.Frame(f).Name)
		}
		v |= s.frames[f]
	}
	s.stacks[index] = v
	return v
}

// cutStack returns the stack that has only the frames to keep, -1 if there are
// none.
func (s *sieve) cutStack(index int32) int32 {
	cut, known := s.cut[index]
	if !known {
		cut = s.makeCut(index)
		s.cut[index] = cut
	}
	return cut
}

func (s *sieve) makeCut(index int32) int32 {
	table := s.dict.StackTable()
	if index <= 0 || int(index) >= table.Len() {
		return -1
	}
	whole := table.At(int(index)).LocationIndices().AsRaw()
	var kept []int32
	key := make([]byte, 0, 4*len(whole))
	for _, loc := range whole {
		frames := s.reader.Location(loc)
		if (s.reader.Frame(frames[0]).Kind == callgraph.Kernel) == (s.Frames == Kernel) {
			kept = append(kept, loc)
			key = append(key, byte(loc), byte(loc>>8), byte(loc>>16), byte(loc>>24))
		}
	}
	switch len(kept) {
	case 0:
		return -1
	case len(whole):
		return index
	}
	at, known := s.made[string(key)]
	if !known {
		at = int32(table.Len())
		table.AppendEmpty().LocationIndices().FromRaw(kept)
		s.made[string(key)] = at
	}
	return at
}
