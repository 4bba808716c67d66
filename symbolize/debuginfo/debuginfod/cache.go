package debuginfod

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flametel/flametel/symbolize/debuginfo"
	"github.com/flametel/flametel/symbolize/elffile"
)

// Files in the directory are named by build ID: debug files, empty files that
// say that there is none, and files that are being written.
const (
	fileSuffix   = ".debug"
	absentSuffix = ".absent"
	partSuffix   = ".part"

	// maxAbsentFiles bounds the empty files.
	maxAbsentFiles = 4096
	// partAge is when a file being written is one that somebody gave up.
	partAge = time.Hour
)

// cache is a directory of debug files. Another profiler may use it at the same
// time; then each sees to the bound.
type cache struct {
	root      *os.Root
	maxBytes  int64
	absentFor time.Duration
	now       func() time.Time

	mu       sync.Mutex
	reserved int64 // for files being written
}

// openCache makes or checks the directory and brings it within its bounds.
func openCache(dir string, maxBytes int64, absentFor time.Duration, now func() time.Time) (*cache, error) {
	if dir == "" {
		return nil, errors.New("debuginfod: no cache directory is given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make debuginfod cache: %w", err)
	}
	before, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("open debuginfod cache: %w", err)
	}
	if !before.IsDir() || before.Mode().Perm()&0o077 != 0 || !ownedByUs(before) {
		return nil, fmt.Errorf("debuginfod cache %s: it must be a directory of the profiler's user with mode 0700", dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open debuginfod cache: %w", err)
	}
	if after, err := root.Stat("."); err != nil || !os.SameFile(before, after) {
		root.Close()
		return nil, fmt.Errorf("debuginfod cache %s: it was replaced while it was opened", dir)
	}
	c := &cache{root: root, maxBytes: maxBytes, absentFor: absentFor, now: now}
	if err := c.trim(0); err != nil {
		root.Close()
		return nil, err
	}
	return c, nil
}

func (c *cache) close() { c.root.Close() }

// open returns a file of the cache, nil if it is not there. One that is not
// what it should be, perhaps after a crash, is removed.
func (c *cache) open(id string) *debuginfo.Found {
	name := id + fileSuffix
	f, err := c.root.Open(name)
	if err != nil {
		return nil
	}
	file, size, err := check(f, id)
	if err != nil {
		f.Close()
		_ = c.root.Remove(name) // or it is found damaged again
		return nil
	}
	now := c.now()
	_ = c.root.Chtimes(name, now, now) // else it goes earlier than it should
	return &debuginfo.Found{File: f, ELF: file, Size: size, Path: f.Name(), Source: debuginfo.SourceDebuginfod}
}

// check tells whether a file has the build ID that it was asked for by.
func check(f *os.File, id string) (*elffile.File, int64, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is not a regular file")
	}
	file, err := elffile.New(f, info.Size())
	if err != nil {
		return nil, 0, err
	}
	if got := hex.EncodeToString(file.BuildIDs().GNU); got != id {
		return nil, 0, fmt.Errorf("it has the build ID %q", got)
	}
	return file, info.Size(), nil
}

// store keeps the file that r has, at most limit bytes, and returns its size.
func (c *cache) store(id string, r io.Reader, limit int64) (int64, error) {
	if err := c.reserve(limit); err != nil {
		return 0, err
	}
	defer c.release(limit)
	part := id + "." + rand.Text()[:8] + partSuffix
	f, err := c.root.OpenFile(part, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, fmt.Errorf("write debuginfod cache: %w", err)
	}
	n, err := write(f, id, r, limit)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = c.root.Rename(part, id+fileSuffix)
	}
	if err != nil {
		return 0, errors.Join(err, c.root.Remove(part))
	}
	_ = c.root.Remove(id + absentSuffix) // mostly there is none
	return n, nil
}

func write(f *os.File, id string, r io.Reader, limit int64) (int64, error) {
	n, err := io.Copy(f, io.LimitReader(r, limit+1))
	if err != nil {
		return 0, err
	}
	if n > limit {
		return 0, fmt.Errorf("%w: the file has more than %d bytes", errRefused, limit)
	}
	if _, _, err := check(f, id); err != nil {
		return 0, fmt.Errorf("%w: %w", errRefused, err)
	}
	return n, nil
}

// reserve makes room for a file that will be written.
func (c *cache) reserve(n int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.maxBytes-c.reserved {
		return fmt.Errorf("%d bytes are more than the cache has room for", n)
	}
	if err := c.trim(c.reserved + n); err != nil {
		return err
	}
	c.reserved += n
	return nil
}

func (c *cache) release(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved -= n
}

// absentUntil tells whether it is noted that there is no such file, and how
// long that is believed.
func (c *cache) absentUntil(id string) (time.Time, bool) {
	info, err := c.root.Lstat(id + absentSuffix)
	if err != nil {
		return time.Time{}, false
	}
	until := info.ModTime().Add(c.absentFor)
	// A time in the future would be believed for ever.
	return until, c.now().Before(until) && !info.ModTime().After(c.now().Add(time.Minute))
}

// setAbsent notes that there is no such file. Without the note servers are
// asked again after a restart.
func (c *cache) setAbsent(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := id + absentSuffix
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	f.Close()
	now := c.now()
	_ = c.root.Chtimes(name, now, now)
}

// trim removes the files used longest ago until there is room for n bytes, and
// what is out of date.
func (c *cache) trim(n int64) error {
	dir, err := c.root.Open(".")
	if err != nil {
		return fmt.Errorf("list debuginfod cache: %w", err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("list debuginfod cache: %w", err)
	}
	var files, absent []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		age := c.now().Sub(info.ModTime())
		switch name := e.Name(); {
		case strings.HasSuffix(name, fileSuffix):
			files = append(files, info)
			total += info.Size()
		case strings.HasSuffix(name, absentSuffix) && age <= c.absentFor:
			absent = append(absent, info)
		case strings.HasSuffix(name, absentSuffix), strings.HasSuffix(name, partSuffix) && age > partAge:
			_ = c.root.Remove(name) // tried again by the next trim
		}
	}
	oldest(files)
	for _, f := range files {
		if total <= c.maxBytes-n {
			break
		}
		if err := c.root.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("make room in debuginfod cache: %w", err)
		}
		total -= f.Size()
	}
	oldest(absent)
	for _, f := range absent[:max(len(absent)-maxAbsentFiles, 0)] {
		_ = c.root.Remove(f.Name())
	}
	return nil
}

// oldest sorts by time of use.
func oldest(files []fs.FileInfo) {
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
}
