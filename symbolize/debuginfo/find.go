package debuginfo

import (
	"context"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/flametel/flametel/symbolize/elffile"
)

// Program is a program whose separate debug file is looked for.
type Program struct {
	// Path is the program's name as its process sees it.
	Path string
	// Info describes the program's file, from fstat: a debug file may belong
	// to its owner, and is not the program itself. It may be nil.
	Info os.FileInfo
	// File is the program.
	File *elffile.File
}

// Opener opens a file by its absolute name in some root directory, for reading
// and without side effects (see OpenIn). A file must be owned by root, by the
// profiler or by owner, if there is one.
type Opener func(name string, owner os.FileInfo) (*os.File, error)

// Source says where symbols were found.
type Source string

// The sources.
const (
	SourceBuildID    Source = "build_id"
	SourceDebugLink  Source = "debug_link"
	SourceDebuginfod Source = "debuginfod"
)

// Found is a separate debug file. The caller closes it. Its file addresses are
// the program's; its segments are not to be trusted, because they hold no bytes.
type Found struct {
	File   *os.File
	ELF    *elffile.File
	Size   int64
	Path   string // in the root in which it was found
	Source Source
}

// Finder looks for separate debug files.
type Finder struct {
	// Dirs are the global debug directories, such as /usr/lib/debug.
	Dirs []string
	// Host opens files of the host; nil if none shall be used.
	Host Opener
}

// Find returns the debug file of a program: by build ID and then by debug link
// in the root of its process, then by build ID among the host's files. inRoot
// opens files of that root, nil if it cannot be reached. Files that belong to
// another program are passed over. It returns ErrNone, with what was wrong
// with each file that was passed over. It reads a whole file if only the CRC
// tells that it is the right one, which ctx may end.
func (fd *Finder) Find(ctx context.Context, p *Program, inRoot Opener) (*Found, error) {
	s := search{ctx: ctx, program: p, id: p.File.BuildIDs().GNU}
	if inRoot != nil {
		if f := s.byBuildID(fd.Dirs, inRoot); f != nil {
			return f, nil
		}
		if f := s.byLink(fd.Dirs, inRoot); f != nil {
			return f, nil
		}
	}
	if fd.Host != nil {
		if f := s.byBuildID(fd.Dirs, fd.Host); f != nil {
			return f, nil
		}
	}
	return nil, errors.Join(append([]error{fmt.Errorf("debug file of %s: %w", p.Path, ErrNone)}, s.refused...)...)
}

// search is one call of Find.
type search struct {
	ctx     context.Context
	program *Program
	id      []byte
	refused []error
}

func (s *search) byBuildID(dirs []string, open Opener) *Found {
	if len(s.id) < 2 {
		return nil
	}
	id := hex.EncodeToString(s.id)
	for _, dir := range dirs {
		name := path.Join("/", dir, ".build-id", id[:2], id[2:]+".debug")
		if f := s.try(name, open, SourceBuildID, nil); f != nil {
			return f
		}
	}
	return nil
}

func (s *search) byLink(dirs []string, open Opener) *Found {
	link, err := LinkOf(s.program.File)
	if err != nil {
		if !errors.Is(err, ErrNone) {
			s.refused = append(s.refused, err)
		}
		return nil
	}
	folder := path.Dir(path.Join("/", s.program.Path))
	names := []string{path.Join(folder, link.Name), path.Join(folder, ".debug", link.Name)}
	for _, dir := range dirs {
		names = append(names, path.Join("/", dir, folder, link.Name))
	}
	for _, name := range names {
		if f := s.try(name, open, SourceDebugLink, &link); f != nil {
			return f
		}
	}
	return nil
}

// try opens a candidate and returns it if it belongs to the program.
func (s *search) try(name string, open Opener, source Source, link *Link) *Found {
	if s.ctx.Err() != nil {
		return nil
	}
	file, err := open(name, s.program.Info)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		f := &Found{File: file, Path: name, Source: source}
		if err = s.check(f, link); err == nil {
			return f
		}
		file.Close()
	}
	s.refused = append(s.refused, fmt.Errorf("%s: %w", name, err))
	return nil
}

// check tells whether a file has the debug information of the program.
func (s *search) check(f *Found, link *Link) error {
	info, err := f.File.Stat()
	if err != nil {
		return err
	}
	if s.program.Info != nil && os.SameFile(info, s.program.Info) {
		return errors.New("it is the program itself")
	}
	f.Size = info.Size()
	if f.ELF, err = elffile.New(f.File, f.Size); err != nil {
		return err
	}
	if f.ELF.Machine != s.program.File.Machine || f.ELF.Is64 != s.program.File.Is64 {
		return errors.New("it is for another machine")
	}
	if !hasDebug(f.ELF) {
		return errors.New("it has neither symbols nor debug information")
	}
	id := f.ELF.BuildIDs().GNU
	switch {
	case len(id) > 0 && len(s.id) > 0:
		if string(id) != string(s.id) {
			return fmt.Errorf("its build ID is %x, the program's %x", id, s.id)
		}
		return nil
	case link == nil:
		return errors.New("it has no build ID")
	}
	return hasCRC(s.ctx, f.File, f.Size, link.CRC)
}

// hasDebug tells whether a file has what stripped programs lack.
func hasDebug(f *elffile.File) bool {
	for i := range f.Sections {
		s := &f.Sections[i]
		switch {
		case s.Type == elf.SHT_NOBITS || s.Size == 0:
		case s.Type == elf.SHT_SYMTAB, s.Name == ".debug_info", s.Name == ".zdebug_info":
			return true
		}
	}
	return false
}
