package symbolize

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/demangle"
)

// Options are the settings of a Symbolizer; the zero value is good.
type Options struct {
	// ProcRoot is where procfs is mounted, "/proc" if empty.
	ProcRoot string
	// MaxCacheBytes bounds all caches together; 0 means 128 MiB.
	MaxCacheBytes int64
	// MaxOpenFiles bounds the files kept open; 0 means 256.
	MaxOpenFiles int
	// Demangle says how names of C++ and Rust are shown.
	Demangle demangle.Style
	// NoInlines leaves inlined calls out, and source lines of all but Go code:
	// no debug information is read.
	NoInlines bool
	// DebugDirs are where separate debug files are looked for, in the root of
	// each process and on the host; nil means /usr/lib/debug.
	DebugDirs []string
	// Fetcher finds debug files on servers; nil means none. The Symbolizer does
	// not close it.
	Fetcher Fetcher
	// Patience is how long a stack waits for the symbols of a file that are being
	// read; without them its frames stay unnamed. 0 means two seconds: local
	// file systems answer in milliseconds, but others may answer late or never.
	Patience time.Duration
	// Now is the clock of the rules that something is looked at again only
	// after some time; nil means time.Now.
	Now func() time.Time
	// KernelSymbols reads the kernel's symbols in the format of kallsyms where
	// that file itself hides the addresses. May be nil.
	KernelSymbols func() (io.ReadCloser, error)
}

// Symbolizer names addresses. All methods are safe for concurrent use: Open is
// meant for the goroutine that reads process events, User and Kernel for the
// one that drains samples, and neither waits for the other's file reading.
type Symbolizer struct {
	opts    Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	now     func() time.Time
	index   index
	files   filePool
	early   earlyPlaces
	ownVDSO atomic.Pointer[Object]

	patience patience

	vsyscall      *Object
	vsyscallFrame *Frame
	nowhere       *Module

	mu        sync.Mutex // guards what follows, and the caches of objects and processes
	tick      uint64     // stacks named so far
	began     time.Time  // of the stack at hand, zero if not known
	held      int64
	holdings  []*holding
	marks     []mark // when how many stacks had been named, the oldest first
	evictions uint64
	late      int // files being read
	strays    map[addr.Virtual]*Frame
	settling  []*jitState // of processes whose generated code may get names late
	awaited   []*Object   // whose debug file is being fetched
	asked     time.Time   // when the Fetcher was last asked for news
	news      uint64      // its generation then
	kernel    kernelState
	refused   map[string]uint64
	badLines  uint64
}

// patience is how long a stack waits for what is read of files.
type patience struct {
	load  time.Duration // for the symbols of a file
	short time.Duration // for the same, while another file is late
	jit   time.Duration // for a perf map
}

const usualPatience = 2 * time.Second

const (
	defaultCacheBytes = 128 << 20
	defaultOpenFiles  = 256
)

// New returns a Symbolizer that has read nothing yet.
func New(opts Options) *Symbolizer {
	if opts.ProcRoot == "" {
		opts.ProcRoot = "/proc"
	}
	if opts.MaxCacheBytes == 0 {
		opts.MaxCacheBytes = defaultCacheBytes
	}
	if opts.MaxOpenFiles == 0 {
		opts.MaxOpenFiles = defaultOpenFiles
	}
	if opts.DebugDirs == nil {
		opts.DebugDirs = []string{"/usr/lib/debug"}
	}
	if opts.Patience == 0 {
		opts.Patience = usualPatience
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Symbolizer{
		ctx: ctx, cancel: cancel,
		opts: opts, now: opts.Now,
		patience: patience{load: opts.Patience, short: 100 * time.Millisecond, jit: 500 * time.Millisecond},
		index:    index{objects: make(map[objectKey]*Object), inodes: make(map[inodeKey]pinned)},
		files:    filePool{max: opts.MaxOpenFiles},
		vsyscall: &Object{kind: objectVsyscall, key: objectKey{path: vsyscallPath}},
		nowhere:  &Module{},
		strays:   make(map[addr.Virtual]*Frame),
		refused:  make(map[string]uint64),
	}
	s.vsyscallFrame = &Frame{
		Kind:    KindNative,
		Module:  &Module{Path: vsyscallPath, Start: addr.File(vsyscallPage), Limit: addr.File(vsyscallPage + vsyscallSize)},
		Address: addr.File(vsyscallPage), Lines: []Line{{Name: vsyscallPath}},
	}
	return s
}

// Stats is a snapshot of what the Symbolizer holds and has done.
type Stats struct {
	// CacheBytes is held by all caches together.
	CacheBytes int64
	// Objects and OpenFiles are held now; Evictions happened since New.
	Objects   int
	OpenFiles int
	Evictions uint64
	// KernelSymbols is the number of named kernel functions; KernelHidden tells
	// that the kernel shows us no addresses. Both are known once a kernel
	// address was asked for.
	KernelSymbols int
	KernelHidden  bool
	// PerfMapsRefused counts perf maps that were not read (or not in full, if
	// too big), by reason; PerfMapLinesBad the lines that made no sense.
	PerfMapsRefused map[string]uint64
	PerfMapLinesBad uint64
}

// Stats returns a snapshot of the counters.
func (s *Symbolizer) Stats() Stats {
	s.index.mu.Lock()
	objects := len(s.index.objects)
	s.index.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Stats{
		CacheBytes: s.held, Objects: objects, OpenFiles: s.files.len(), Evictions: s.evictions,
		PerfMapsRefused: make(map[string]uint64, len(s.refused)), PerfMapLinesBad: s.badLines,
	}
	for k, n := range s.refused {
		st.PerfMapsRefused[k] = n
	}
	if t := s.kernel.table; t != nil {
		st.KernelSymbols, st.KernelHidden = t.Len(), t.Hidden()
	}
	return st
}

// Close releases all files and caches. Frames stay valid. What is asked for
// afterwards may have a name or not, but no file is kept open any more.
func (s *Symbolizer) Close() {
	s.cancel()
	s.index.mu.Lock()
	clear(s.index.objects)
	clear(s.index.inodes)
	s.index.mu.Unlock()
	s.ownVDSO.Store(nil)
	s.early.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files.close()
	s.leaveAll()
	for _, h := range s.holdings {
		s.drop(h)
	}
	s.holdings, s.awaited = nil, nil
	s.held -= s.kernel.held
	s.kernel = kernelState{}
	clear(s.strays)
}
