package tally

import (
	"path"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// dictionary reads the tables of a message. An index that points nowhere gives
// the zero value, as for every reader of profiles.
type dictionary struct {
	pprofile.ProfilesDictionary
	program string   // whose samples are read, "" if not known
	hashes  []uint64 // of locations, 0 until needed
}

func newDictionary(d pprofile.ProfilesDictionary) *dictionary {
	return &dictionary{ProfilesDictionary: d, hashes: make([]uint64, d.LocationTable().Len())}
}

// identity is a number that, as good as always, is the same only for the same
// stack of the same process, whatever message it stands in.
func (d *dictionary) identity(stack int32, process pcommon.Value) uint64 {
	h := uint64(offset64)
	if process != (pcommon.Value{}) {
		h = mix(h, uint64(process.Int()))
	}
	if table := d.StackTable(); stack <= 0 || int(stack) >= table.Len() {
		return h
	}
	for _, i := range d.StackTable().At(int(stack)).LocationIndices().All() {
		h = mix(h, d.locationHash(i))
	}
	return h
}

func (d *dictionary) locationHash(i int32) uint64 {
	if i <= 0 || int(i) >= len(d.hashes) {
		return 0
	}
	if d.hashes[i] == 0 {
		loc := d.LocationTable().At(int(i))
		h := mix(offset64, loc.Address())
		for _, text := range []string{d.file(loc), d.functionName(loc)} {
			for _, b := range []byte(text) {
				h = mix(h, uint64(b))
			}
		}
		d.hashes[i] = h | 1
	}
	return d.hashes[i]
}

// The constants of FNV-1a.
const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
)

func mix(h, v uint64) uint64 {
	h = (h ^ v) * prime64
	return h ^ h>>32
}

func (d *dictionary) str(i int32) string {
	if t := d.StringTable(); i > 0 && int(i) < t.Len() {
		return t.At(int(i))
	}
	return ""
}

// kindName is the short name of what was sampled, as callgraph.Graph.Name.
func (d *dictionary) kindName(prof pprofile.Profile) string {
	name := d.str(prof.SampleType().TypeStrindex())
	if period := d.str(prof.PeriodType().TypeStrindex()); name == "samples" && period != "" {
		return period
	}
	return name
}

// attributes calls yield for each attribute.
func (d *dictionary) attributes(indices pcommon.Int32Slice, yield func(key string, v pcommon.Value)) {
	table := d.AttributeTable()
	for _, i := range indices.All() {
		if i > 0 && int(i) < table.Len() {
			kv := table.At(int(i))
			yield(d.str(kv.KeyStrindex()), kv.Value())
		}
	}
}

// leaf returns the function in which a stack ends.
func (d *dictionary) leaf(stack int32) Function {
	unknown := Function{callgraph.NameUnknown, callgraph.Unknown.String()}
	if table := d.StackTable(); stack <= 0 || int(stack) >= table.Len() {
		return unknown
	}
	locations := d.StackTable().At(int(stack)).LocationIndices()
	if locations.Len() == 0 {
		return unknown
	}
	i := locations.At(0)
	if table := d.LocationTable(); i <= 0 || int(i) >= table.Len() {
		return unknown
	}
	return d.function(d.LocationTable().At(int(i)))
}

// frames returns how many frames a stack has, inlined calls too, and calls unknown
// with the module of each that has no name.
func (d *dictionary) frames(stack int32, unknown func(module string)) (n int64) {
	if table := d.StackTable(); stack <= 0 || int(stack) >= table.Len() {
		return 0
	}
	table := d.LocationTable()
	for _, i := range d.StackTable().At(int(stack)).LocationIndices().All() {
		if i <= 0 || int(i) >= table.Len() {
			continue
		}
		loc := table.At(int(i))
		n += int64(max(1, loc.Lines().Len()))
		switch name := d.functionName(loc); {
		case name == callgraph.NameUnknown:
			unknown(name)
		case name == "" && d.kind(loc) == callgraph.Kernel:
			unknown("[kernel]")
		case name == "":
			unknown(d.module(loc))
		}
	}
	return n
}

// function returns the innermost function of a location.
func (d *dictionary) function(loc pprofile.Location) Function {
	name, frameType := d.functionName(loc), d.frameType(loc)
	kind := callgraph.KindOf(frameType, d.file(loc))
	switch {
	case name == "" && kind == callgraph.Kernel:
		name = callgraph.NameUnknown
	case name == "":
		name, kind = d.module(loc), callgraph.Unknown
	case callgraph.IsPlaceholder(name) && kind != callgraph.Kernel:
		kind = callgraph.Unknown
	case frameType == KindEvent:
		return Function{name, KindEvent}
	}
	return Function{name, kind.String()}
}

func (d *dictionary) functionName(loc pprofile.Location) string {
	if loc.Lines().Len() == 0 {
		return ""
	}
	i := loc.Lines().At(0).FunctionIndex()
	if table := d.FunctionTable(); i <= 0 || int(i) >= table.Len() {
		return ""
	}
	fn := d.FunctionTable().At(int(i))
	if name := d.str(fn.NameStrindex()); name != "" {
		return name
	}
	return d.str(fn.SystemNameStrindex())
}

// file is the name of the file that a location is in, "" if there is none.
func (d *dictionary) file(loc pprofile.Location) string {
	i := loc.MappingIndex()
	if table := d.MappingTable(); i <= 0 || int(i) >= table.Len() {
		return ""
	}
	return d.str(d.MappingTable().At(int(i)).FilenameStrindex())
}

// generated is what the profiler calls code in memory of no file. Only the
// program tells the reader what it is.
const generated = "[anon]"

// module stands for all code of a file that has no name.
func (d *dictionary) module(loc pprofile.Location) string {
	base := path.Base(d.file(loc))
	switch {
	case base == generated && d.program != "":
		return base + " of " + d.program
	case base == "." || base == "/":
		return callgraph.NameUnknown
	case strings.HasPrefix(base, "[") && strings.HasSuffix(base, "]"):
		return base
	}
	return "[" + base + "]"
}

// kind derives the kind of a frame as the outputs do.
func (d *dictionary) kind(loc pprofile.Location) callgraph.Kind {
	return callgraph.KindOf(d.frameType(loc), d.file(loc))
}

func (d *dictionary) frameType(loc pprofile.Location) (frameType string) {
	d.attributes(loc.AttributeIndices(), func(key string, v pcommon.Value) {
		if key == "profile.frame.type" {
			frameType = v.Str()
		}
	})
	return frameType
}
