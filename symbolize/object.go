package symbolize

import (
	"encoding/hex"
	"strings"
	"sync/atomic"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/procmap"
)

// Object is a file (or the vDSO, or anonymous memory) that code is mapped
// from, pinned when the mapping appeared. Processes that map the same file
// share it.
type Object struct {
	kind objectKind
	key  objectKey // path and identity

	// Guarded by Symbolizer.index.mu.
	pin    *pin   // may have been closed meanwhile
	origin origin // who mapped it last, to open it again
	seen   uint64 // when, in calls of Open

	data   []byte      // instead of a file: the image of a vDSO
	extent addr.File   // end of the mapped part, as far as Open was told
	failed atomic.Bool // reading did not succeed; another process may make it so
	early  atomic.Pointer[earlyImage]
	lost   error // why it could not be opened, if it is an objectLost

	held holding // what follows; all guarded by Symbolizer.mu
	// image is what the file says; nil until it is asked for, and after it was
	// dropped for memory.
	image   *image
	loading chan *image
	frames  map[addr.Offset]*Frame
	lines   map[uint32][]Line // by Symbols.NameID
	texts   map[string]string // of frames that tables named, each to itself
	// demangled are names of debug information by their linker names.
	demangled map[string]Line
	modules   []*Module       // by segment; the last is for addresses in none
	functions *elffile.Ranges // where code without names belongs; nil before that is asked
	detail    detail
}

type objectKind uint8

const (
	objectFile objectKind = iota
	objectVDSO
	objectVsyscall
	objectAnonymous
	objectLost // a file that could not be opened
)

// objectKey identifies what a name leads to. A build ID alone, or with the path
// that a process sees, would let any file claim to be another.
type objectKey struct {
	path    string
	buildID string   // of the GNU kind, raw bytes
	id      identity // of the file when it was opened
}

// origin is a mapping through which a file may be opened.
type origin struct {
	pid     int
	mapping procmap.Mapping
}

// Path is the file name as the process saw it.
func (o *Object) Path() string { return o.key.path }

// module returns a new module for a segment of the object. Without an image
// file addresses are taken to be offsets.
func (o *Object) module(start, limit addr.File, offset addr.Offset) *Module {
	m := &Module{
		Path: o.key.path, GNUBuildID: hex.EncodeToString([]byte(o.key.buildID)),
		Start: start, Limit: limit, Offset: offset,
	}
	if o.image != nil {
		m.GoBuildID = o.image.goBuildID
	}
	return m
}

// classify tells what sort of memory a mapping is by its name; the path that
// results is the name of its module.
func classify(m *procmap.Mapping) (kind objectKind, path string) {
	switch p := m.Path; {
	case p == "/dev/zero":
		return objectAnonymous, anonymousPath // a private copy of nothing
	case m.File():
		return objectFile, p
	case p == "[vdso]":
		return objectVDSO, p
	case p == "[vsyscall]":
		return objectVsyscall, p
	case p == "", strings.HasPrefix(p, "//"), p == "[heap]", p == "[anon]",
		strings.HasPrefix(p, "[anon"), strings.HasPrefix(p, "[stack"):
		return objectAnonymous, anonymousPath
	default:
		return objectAnonymous, p // such as [uprobes]
	}
}

const (
	anonymousPath = "[anon]"
	vsyscallPath  = "[vsyscall]"
	// vsyscallPage is where x86-64 kernels put the page of old-style system
	// calls (arch/x86/include/uapi/asm/vsyscall.h, VSYSCALL_ADDR); it is in no
	// list of mappings that events tell.
	vsyscallPage = addr.Virtual(0xffffffffff600000)
	vsyscallSize = 0x1000
)
