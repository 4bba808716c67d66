package callgraph

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Reader gives the frames of the stacks of one message, named as in graphs
// without detail. It is not safe for concurrent use.
type Reader struct {
	dict *dictionary
}

// NewReader returns a Reader of the tables of a message, which must not change
// as long as it is used, except by appending.
func NewReader(d pprofile.ProfilesDictionary) *Reader {
	return &Reader{dict: newDictionary(d, newFrameTable(), false)}
}

// Stack appends the frames of a stack to dst, root first. Equal frames of one
// Reader have equal numbers; Frame says what they are.
func (r *Reader) Stack(index int32, dst []int32) []int32 { return r.dict.stack(index, dst) }

// Location returns the frames of a location, outermost first. They belong to
// the Reader.
func (r *Reader) Location(index int32) []int32 { return r.dict.location(index) }

// Frame returns a frame by its number.
func (r *Reader) Frame(number int32) Frame { return r.dict.frames.list[number] }

// Frames is how many frames the Reader has numbered so far.
func (r *Reader) Frames() int { return len(r.dict.frames.list) }

// Kind is the short name of what a profile sampled, as Graph.Name.
func (r *Reader) Kind(prof pprofile.Profile) string {
	g := Graph{SampleType: r.dict.valueType(prof.SampleType()), PeriodType: r.dict.valueType(prof.PeriodType())}
	return g.Name()
}

// Thread returns the name and number of the thread of a sample, zero if they are
// not known.
func (r *Reader) Thread(s pprofile.Sample) (name string, id int64) {
	return r.dict.stringOf(s.AttributeIndices(), attrThreadName), r.dict.intOf(s.AttributeIndices(), attrThreadID)
}

// ProcessOf returns the name of the process that a resource stands for: its
// executable, else its service, else nothing.
func ProcessOf(resource pcommon.Map) string {
	if name := stringAttr(resource, "process.executable.name"); name != "" {
		return name
	}
	return stringAttr(resource, "service.name")
}

// IsAccounting reports whether the profiles of a resource hold no samples, but
// what a profiler says about its losses.
func IsAccounting(resource pcommon.Map) bool {
	v, ok := resource.Get(attrAccounting)
	return ok && v.Type() == pcommon.ValueTypeBool && v.Bool()
}

// Value is what a sample counts: the sum of its values; if it has only
// timestamps, their number. It is not ok for a malformed sample.
func Value(s pprofile.Sample) (v int64, ok bool) { return sampleValue(s) }
