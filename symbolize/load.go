package symbolize

import (
	"bytes"
	"os"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/elffile"
)

// image is what was read of an object's file to name its code. It is immutable
// but for tables.
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
	// goStart to goLimit is the code that the Go table names; debug tells that
	// other code has debug information.
	goStart, goLimit addr.File
	debug            bool
	// symtab tells that there is a symbol table in full, here or in a separate
	// file; without one only what other files may call has a name.
	symtab bool
	// functions tells that unnamed functions can be told apart.
	functions bool
	// awaited tells that a debug file is being fetched.
	awaited bool
	// sigreturns is where signal handlers return to, mostly nowhere.
	sigreturns []addr.Offset
	// tables are handed over to the object when the image is.
	tables *tables
}

func (m *image) bytes() int64 {
	n := int64(objectBytes)
	if m.symbols != nil {
		n += m.symbols.Bytes()
	}
	if t := m.tables; t != nil {
		n += tablesBytes
		for _, f := range []*elffile.File{t.debugFile, t.supplementFile} {
			if f != nil {
				n += int64(len(f.Sections)) * sectionBytes
			}
		}
	}
	return n
}

// detailed tells whether the tables may know more of an address.
func (m *image) detailed(at addr.File) bool {
	return m.debug || at >= m.goStart && at < m.goLimit
}

// isSigreturn tells whether the code at an offset is what signal handlers
// return to.
func (m *image) isSigreturn(off addr.Offset) bool {
	for _, o := range m.sigreturns {
		if o == off {
			return true
		}
	}
	return false
}

// inSigreturn tells whether a thread that is at an offset returns from a signal
// handler: it is in that code, or in the kernel, which the end of it calls.
func (m *image) inSigreturn(off addr.Offset) bool {
	for _, o := range m.sigreturns {
		if off >= o && off-o <= sigreturnBytes {
			return true
		}
	}
	return false
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
		if early := o.early.Swap(nil); early != nil {
			o.loading = early.done
		} else {
			o.loading = make(chan *image, 1)
			go func() { o.loading <- s.load(o, nil) }()
		}
		s.late++
	}
	img := wait(o.loading, patience)
	if img == nil {
		return nil
	}
	s.late--
	o.loading = nil
	if img.bytes() > s.opts.MaxCacheBytes/2 {
		img = &image{reason: ReasonTooBig} // one file must not push out all others
	}
	o.image = img
	o.detail.tables, o.detail.goBytes = img.tables, 0
	s.hold(&o.held, o, img.bytes())
	if img.awaited {
		s.awaited = append(s.awaited, o)
	}
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

// load reads the image of an object. It runs without locks. trace, which may
// be nil, is told what was tried.
func (s *Symbolizer) load(o *Object, trace *trace) *image {
	if o.kind == objectVDSO {
		r := reading{s: s, trace: trace}
		return r.image(bytes.NewReader(o.data), int64(len(o.data)))
	}
	img, err := s.loadFile(o, trace)
	if err != nil {
		trace.failed("file", err)
		img = &image{reason: ReasonUnreadable}
		o.failed.Store(true)
	}
	return img
}

// loadFile reads the file of an object. An error is one that another process
// that maps the file may not have; whatever its contents cause is in the image.
func (s *Symbolizer) loadFile(o *Object, trace *trace) (*image, error) {
	f, done, err := s.useFile(o)
	if err != nil {
		return nil, err
	}
	defer done()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	before, err := identify(f)
	if err != nil || o.key.buildID == "" && !before.sameContent(o.key.id) {
		return nil, errChanged
	}
	s.index.mu.Lock()
	pid := o.origin.pid
	s.index.mu.Unlock()
	program := &source{id: before, file: f}
	program.open = func() (*os.File, func(), error) { return s.useFile(o) }
	r := reading{s: s, trace: trace, path: o.key.path, pid: pid, info: info, program: program}
	img := r.image(program, before.size)
	program.file = nil
	if after, err := identify(f); err != nil || !after.sameContent(before) {
		return nil, errChanged
	}
	if o.key.buildID != "" && img.reason == ReasonNone && img.buildID != o.key.buildID {
		return nil, errChanged
	}
	return img, nil
}
