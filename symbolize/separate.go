package symbolize

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/flametel/flametel/symbolize/debuginfo"
	"github.com/flametel/flametel/symbolize/debuginfo/debuginfod"
	"github.com/flametel/flametel/symbolize/dwarfline"
	"github.com/flametel/flametel/symbolize/elffile"
)

// Fetcher finds debug files on servers, which it never waits for; a
// debuginfod.Client is one. Generation changes when it may know more.
type Fetcher interface {
	Find(buildID []byte) (*debuginfo.Found, debuginfod.State)
	Generation() uint64
}

// separateFile is a separate debug file in use.
type separateFile struct {
	file   *elffile.File
	source *source
	done   func()
}

// openers open files in the root of the process and on the host.
func (r *reading) openers() (inRoot, host debuginfo.Opener) {
	proc := r.s.opts.ProcRoot
	return debuginfo.OpenIn(proc, filepath.Join(proc, itoa(r.pid), "root")), debuginfo.OpenIn(proc, "/")
}

// separate finds the debug file of a program and opens it, nil if there is
// none. One that is being fetched is noted in the image.
func (r *reading) separate(f *elffile.File, img *image) *separateFile {
	inRoot, host := r.openers()
	finder := debuginfo.Finder{Dirs: r.s.opts.DebugDirs, Host: host}
	found, err := finder.Find(r.s.ctx, &debuginfo.Program{Path: r.path, Info: r.info, File: f}, inRoot)
	if err != nil {
		r.trace.failed("debug_file", err)
		return r.fetched(img)
	}
	r.trace.found(string(found.Source), found.Path)
	return r.take(found, func() (*os.File, error) {
		if f, err := inRoot(found.Path, r.info); err == nil {
			return f, nil
		}
		return host(found.Path, r.info)
	})
}

// fetched asks the servers for the debug file.
func (r *reading) fetched(img *image) *separateFile {
	fetch := r.s.opts.Fetcher
	if fetch == nil || img.buildID == "" {
		return nil
	}
	id := []byte(img.buildID)
	found, state := fetch.Find(id)
	switch state {
	case debuginfod.Found:
		r.trace.found(string(found.Source), found.Path)
		return r.take(found, func() (*os.File, error) {
			if f, _ := fetch.Find(id); f != nil {
				return f.File, nil
			}
			return nil, os.ErrNotExist
		})
	case debuginfod.Pending:
		r.trace.found("debuginfod", "is being fetched")
		img.awaited = true
	default:
		r.trace.failed("debuginfod", errNoServer)
	}
	return nil
}

var errNoServer = errors.New("no server has it, or none answers")

// take makes a separateFile of what was found.
func (r *reading) take(found *debuginfo.Found, again func() (*os.File, error)) *separateFile {
	src, err := r.s.pinned(found.File, again)
	if err != nil {
		r.trace.failed(string(found.Source), err)
		return nil
	}
	done, err := src.use()
	if err != nil {
		r.trace.failed(string(found.Source), err)
		return nil
	}
	f, err := elffile.New(src, found.Size)
	if err != nil {
		r.trace.failed(string(found.Source), err)
		done()
		return nil
	}
	return &separateFile{file: f, source: src, done: done}
}

// addSupplement finds the file in which dwz put debug information that several
// files share: where the debug file says, or by its build ID.
func (r *reading) addSupplement(t *tables) {
	name, id, ok := dwarfline.SupplementName(t.debugFile)
	if !ok {
		return
	}
	inRoot, host := r.openers()
	for _, name := range r.supplementNames(name, id) {
		for _, open := range []debuginfo.Opener{inRoot, host} {
			file, err := open(name, r.info)
			if err != nil {
				continue
			}
			src, err := r.s.pinned(file, func() (*os.File, error) { return open(name, r.info) })
			if err != nil {
				continue
			}
			if f := supplementIn(src, id); f != nil {
				t.supplement, t.supplementFile = src, f
				r.trace.found("dwz", name)
				return
			}
		}
	}
	r.trace.failed("dwz", fmt.Errorf("%s: %w", name, os.ErrNotExist))
}

func (r *reading) supplementNames(name string, id []byte) []string {
	names := []string{path.Join("/", path.Dir(r.path), name)}
	if path.IsAbs(name) {
		names[0] = name
	}
	if len(id) > 1 {
		for _, dir := range r.s.opts.DebugDirs {
			names = append(names, path.Join("/", dir, ".build-id", hex.EncodeToString(id[:1]), hex.EncodeToString(id[1:])+".debug"))
		}
	}
	return names
}

// supplementIn returns the file behind a source if it has the build ID.
func supplementIn(src *source, id []byte) *elffile.File {
	done, err := src.use()
	if err != nil {
		return nil
	}
	defer done()
	f, err := elffile.New(src, src.id.size)
	if err != nil || !bytes.Equal(f.BuildIDs().GNU, id) {
		return nil
	}
	return f
}

// debugLimits shares the room for caches: half of it for debug information. What
// is unpacked stays as long as anything of the file is used, and little of it is
// read, so that it takes memory only if it is little or there is no disk.
func (s *Symbolizer) debugLimits() dwarfline.Options {
	return dwarfline.Options{
		MaxBytes: s.opts.MaxCacheBytes / 8, MaxUnpacked: s.opts.MaxCacheBytes / 8 * 3,
		Scratch: s.files.scratch.make, SpillFrom: s.opts.MaxCacheBytes / 32,
	}
}
