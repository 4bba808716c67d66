package pdatabuild

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

// The bounds here are computed before anything is interned, because what is in
// a dictionary cannot be taken out again. They count entries as new that turn
// out to be known by content; this only closes a message a little early.

// stringBound is an upper bound of what interning s adds.
func stringBound(s string) int {
	// Sanitising can make three bytes of one.
	return nestedSize(min(3*len(s), maxStringBytes))
}

// bound is an upper bound of the bytes that the frames add to the dictionary.
// With seen, a frame that occurs several times counts once.
func (d *dictionary) bound(frames []*symbolize.Frame, seen map[*symbolize.Frame]struct{}) int {
	n := 0
	for _, f := range frames {
		if _, ok := d.frames[f]; ok {
			continue
		}
		if seen != nil {
			if _, ok := seen[f]; ok {
				continue
			}
			seen[f] = struct{}{}
		}
		n += d.frameBound(f)
	}
	return n
}

const (
	// locationBytes covers a location without lines and its frame type.
	locationBytes = 96
	// functionBytes covers the attribute that says where a function is, and its
	// key.
	functionBytes = 64
	// lineBytes covers a line and its function without strings.
	lineBytes = 64
	// mappingBytes covers a mapping and its attributes without strings.
	mappingBytes = 192
)

func (d *dictionary) frameBound(f *symbolize.Frame) int {
	n := locationBytes
	if m := f.Module; m != nil && m.Path != "" {
		if _, ok := d.modules[m]; !ok {
			n += mappingBytes + stringBound(m.Path) + stringBound(m.GNUBuildID) + stringBound(m.GoBuildID)
		}
	}
	if len(f.Lines) == 0 {
		return n + lineBytes + functionBytes
	}
	for i := range f.Lines {
		l := &f.Lines[i]
		n += lineBytes + stringBound(l.Name) + stringBound(l.SystemName) + stringBound(l.File)
	}
	return n
}

// resourceBound is an upper bound of what opening the profiles of s adds.
func (m *message) resourceBound(s *window.Series) int {
	attrs := pcommon.NewMap()
	fillResource(attrs, s.Process, m.HostName)
	n := attributesBound(attrs) + resourceOverhead + len(ScopeName) + len(m.Version)
	for _, t := range s.Kind.SampleTypes {
		n += profileOverhead + stringBound(t.Type) + stringBound(t.Unit)
	}
	return n + stringBound(s.Kind.PeriodType.Type) + stringBound(s.Kind.PeriodType.Unit)
}
