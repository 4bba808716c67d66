package symbolize

import (
	"errors"
	"time"

	"github.com/flametel/flametel/symbolize/addr"
	"github.com/flametel/flametel/symbolize/dwarfline"
	"github.com/flametel/flametel/symbolize/elffile"
	"github.com/flametel/flametel/symbolize/gosym"
)

const (
	// maxSlow is how much time lookups that take long may take for one file in
	// all, so that a file made to be slow does not keep the profiler busy.
	// Reading a unit of a big program takes some ten milliseconds, its index a
	// second.
	slowLookup = 50 * time.Millisecond
	maxSlow    = 10 * time.Second
	// maxUnpacking is how much more unpacking may take in all: some ten seconds
	// for what has a gigabyte, on a busy machine a multiple.
	maxUnpacking = time.Minute
)

// tables know more of code than symbols do: inlined calls, files and lines.
// One goroutine at a time uses them.
type tables struct {
	program *source
	golang  *gosym.Table // nil if it is no Go program
	// functions leads to the ranges of functions, nil if the program tells none.
	functions *elffile.Functions

	// The files with the debug information, nil if there are none.
	debugFile, supplementFile *elffile.File
	debug, supplement         *source
	limits                    dwarfline.Options
	dwarf                     *dwarfline.Data // opened when it is first asked
	slow, unpacking           time.Duration
	failed                    error // the debug information is not asked any more
}

// answer is what tables say of an address: nothing, or lines of one of them.
type answer struct {
	golang []gosym.Line
	dwarf  []dwarfline.Line
	// ranges are those of the functions, if they were asked for.
	ranges *elffile.Ranges
	err    error
	// What the tables hold now.
	goBytes, dwarfBytes int64
}

var errSlow = errors.New("reading its debug information took too long")

// lookup reads what is known of an address, and where functions are if asked to.
func (t *tables) lookup(at addr.File, ranges bool) (a answer) {
	isGo := false
	if t.golang != nil {
		start, limit := t.golang.Text()
		if isGo = at >= start && at < limit; isGo {
			a.golang, a.err = t.lookupGo(at)
		}
		a.goBytes = t.golang.Bytes()
	}
	// What the line table of Go does not know of Go's own text, DWARF does not
	// know either, and the DWARF of Go programs is large and compressed.
	if !isGo && t.debugFile != nil {
		a.dwarf, a.err = t.lookupDWARF(at)
	}
	if t.dwarf != nil {
		a.dwarfBytes = t.dwarf.Bytes()
	}
	if ranges && t.functions != nil {
		a.ranges = t.loadRanges()
	}
	return a
}

// loadRanges reads where functions are; nil if that does not succeed.
func (t *tables) loadRanges() *elffile.Ranges {
	done, err := t.program.use()
	if err != nil {
		return nil
	}
	defer done()
	ranges, err := t.functions.Load(t.program)
	if err != nil {
		return nil
	}
	return ranges
}

func (t *tables) lookupGo(at addr.File) ([]gosym.Line, error) {
	done, err := t.program.use()
	if err != nil {
		return nil, err
	}
	defer done()
	return t.golang.Lookup(at, nil)
}

func (t *tables) lookupDWARF(at addr.File) ([]dwarfline.Line, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	start := time.Now()
	done, err := t.debug.use()
	if err != nil {
		return nil, err
	}
	defer done()
	if t.supplement != nil {
		done, err := t.supplement.use()
		if err != nil {
			return nil, err
		}
		defer done()
	}
	if t.dwarf == nil {
		limits := t.limits
		if t.supplement != nil {
			limits.Supplement, limits.SupplementReader = t.supplementFile, t.supplement
		}
		if t.dwarf, err = dwarfline.Open(t.debugFile, t.debug, limits); err != nil {
			t.failed = err
			return nil, err
		}
	}
	unpacked := t.dwarf.UnpackTime()
	lines, err := t.dwarf.Lookup(at, nil)
	unpacked = t.dwarf.UnpackTime() - unpacked
	t.unpacking += unpacked
	if took := time.Since(start) - unpacked; took > slowLookup {
		t.slow += took
	}
	if t.slow > maxSlow || t.unpacking > maxUnpacking {
		t.failed = errSlow
		t.dropDWARF()
	}
	return lines, err
}

// dropDWARF gives the debug information back; it is read again if need be.
func (t *tables) dropDWARF() {
	if t.dwarf != nil {
		t.dwarf.Drop()
		t.dwarf = nil
	}
}
