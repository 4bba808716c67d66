package callgraph

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// dictionary reads the shared tables of one message. Every index is checked:
// one that points nowhere gives the zero value.
type dictionary struct {
	pprofile.ProfilesDictionary
	frames *frameTable
	detail bool
	// locations are the frames of each location, outermost first; nil until
	// the location is used.
	locations [][]int32
	// mappings likewise.
	mappings []*Mapping
}

func newDictionary(d pprofile.ProfilesDictionary, frames *frameTable, detail bool) *dictionary {
	return &dictionary{
		ProfilesDictionary: d,
		frames:             frames,
		detail:             detail,
		locations:          make([][]int32, d.LocationTable().Len()),
		mappings:           make([]*Mapping, d.MappingTable().Len()),
	}
}

func (d *dictionary) str(i int32) string {
	if t := d.StringTable(); i > 0 && int(i) < t.Len() {
		return t.At(int(i))
	}
	return ""
}

func (d *dictionary) valueType(v pprofile.ValueType) ValueType {
	return ValueType{Type: d.str(v.TypeStrindex()), Unit: d.str(v.UnitStrindex())}
}

func (d *dictionary) typeKey(prof pprofile.Profile) typeKey {
	return typeKey{d.valueType(prof.SampleType()), d.valueType(prof.PeriodType()), prof.Period()}
}

// attribute returns the value of the first attribute with a key.
func (d *dictionary) attribute(indices pcommon.Int32Slice, key string) (v pcommon.Value, ok bool) {
	table := d.AttributeTable()
	for _, i := range indices.All() {
		if i <= 0 || int(i) >= table.Len() {
			continue
		}
		if kv := table.At(int(i)); d.str(kv.KeyStrindex()) == key {
			return kv.Value(), true
		}
	}
	return pcommon.Value{}, false
}

func (d *dictionary) stringOf(indices pcommon.Int32Slice, key string) string {
	if v, ok := d.attribute(indices, key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}

func (d *dictionary) intOf(indices pcommon.Int32Slice, key string) int64 {
	if v, ok := d.attribute(indices, key); ok && v.Type() == pcommon.ValueTypeInt {
		return v.Int()
	}
	return 0
}

// attributes returns all attributes by key.
func (d *dictionary) attributes(indices pcommon.Int32Slice) map[string]pcommon.Value {
	table := d.AttributeTable()
	out := make(map[string]pcommon.Value, indices.Len())
	for _, i := range indices.All() {
		if i > 0 && int(i) < table.Len() {
			kv := table.At(int(i))
			out[d.str(kv.KeyStrindex())] = kv.Value()
		}
	}
	return out
}

// stack appends the frames of a stack, root first. A stack that does not exist
// is one unknown frame; index 0 is the stack without frames.
func (d *dictionary) stack(index int32, dst []int32) []int32 {
	table := d.StackTable()
	if index < 0 || int(index) >= table.Len() {
		return append(dst, d.frames.intern(Frame{Name: NameUnknown}))
	}
	locations := table.At(int(index)).LocationIndices()
	last := locations.Len() - 1
	if last >= maxDepth {
		last = maxDepth - 1
		dst = append(dst, d.frames.intern(Frame{Name: NameTruncated}))
	}
	// Leaf first in OTLP, so the root is the last one.
	for i := last; i >= 0; i-- {
		// Inlined calls can still make it too deep.
		if len(dst) > maxDepth {
			return append(dst, d.frames.intern(Frame{Name: NameTruncated}))
		}
		dst = append(dst, d.location(locations.At(i))...)
	}
	return dst
}

// location returns the frames of a location, outermost first.
func (d *dictionary) location(index int32) []int32 {
	if index <= 0 || int(index) >= len(d.locations) {
		return []int32{d.frames.intern(Frame{Name: NameUnknown})}
	}
	if d.locations[index] == nil {
		d.locations[index] = d.resolve(d.LocationTable().At(int(index)))
	}
	return d.locations[index]
}

func (d *dictionary) resolve(loc pprofile.Location) []int32 {
	m := d.mapping(loc.MappingIndex())
	frameType := d.stringOf(loc.AttributeIndices(), "profile.frame.type")
	lines := loc.Lines()
	if lines.Len() == 0 {
		return []int32{d.unnamed(loc, m, frameType)}
	}
	frames := make([]int32, 0, min(lines.Len(), maxDepth))
	// The last line is the function itself; those before it were inlined.
	for i := lines.Len() - 1; i >= 0 && len(frames) < maxDepth; i-- {
		frames = append(frames, d.line(loc, lines.At(i), m, frameType, i < lines.Len()-1))
	}
	return frames
}

// unnamed returns the frame of a location without a function. Its kind is
// Unknown even if its type is known: what the reader has to see is that a name
// is missing. Only kernel frames stay what they are, as their name never shows
// where they are from.
func (d *dictionary) unnamed(loc pprofile.Location, m *Mapping, frameType string) int32 {
	f := Frame{Name: Unnamed(m, d.functionStart(loc, m)), Type: frameType}
	if m != nil {
		f.Module = m.File
	}
	if KindOf(frameType, f.Module) == Kernel {
		f.Kind = Kernel
	}
	return d.frames.intern(d.place(f, loc, m, 0))
}

// functionStart returns where the function of a location begins if its sender
// knew that and it makes sense, else the location's address: all frames of one
// function without a name are to look the same.
func (d *dictionary) functionStart(loc pprofile.Location, m *Mapping) uint64 {
	start := d.intOf(loc.AttributeIndices(), "flametel.function.address")
	if m == nil || start <= 0 || uint64(start) > loc.Address() || !m.contains(uint64(start)) || !m.contains(loc.Address()) {
		return loc.Address()
	}
	return uint64(start)
}

func (d *dictionary) line(loc pprofile.Location, line pprofile.Line, m *Mapping, frameType string, inlined bool) int32 {
	f := Frame{Type: frameType, Inlined: inlined}
	if table := d.FunctionTable(); line.FunctionIndex() > 0 && int(line.FunctionIndex()) < table.Len() {
		fn := table.At(int(line.FunctionIndex()))
		f.Name = d.str(fn.NameStrindex())
		f.SystemName = d.str(fn.SystemNameStrindex())
		f.File = d.str(fn.FilenameStrindex())
		f.StartLine = max(0, fn.StartLine())
	}
	if f.Name == "" {
		f.Name = f.SystemName
	}
	if f.Name == "" {
		return d.unnamed(loc, m, frameType)
	}
	if m != nil {
		f.Module = m.File
	}
	f.Kind = KindOf(frameType, f.Module)
	// What has a type is a function, whatever it is called.
	if frameType == "" && f.Kind != Kernel && IsPlaceholder(f.Name) {
		f.Kind = Unknown
	}
	return d.frames.intern(d.place(f, loc, m, max(0, line.Line())))
}

// place fills in, or leaves out, what belongs to a single address.
func (d *dictionary) place(f Frame, loc pprofile.Location, m *Mapping, line int64) Frame {
	if !d.detail {
		f.SystemName = ""
		return f
	}
	if f.SystemName == f.Name {
		f.SystemName = ""
	}
	f.Line, f.Address, f.Mapping = line, loc.Address(), m
	return f
}

// mapping returns a mapping, nil for index 0, which means none.
func (d *dictionary) mapping(index int32) *Mapping {
	if index <= 0 || int(index) >= len(d.mappings) {
		return nil
	}
	if d.mappings[index] == nil {
		m := d.MappingTable().At(int(index))
		d.mappings[index] = d.frames.mapping(Mapping{
			Start:   m.MemoryStart(),
			Limit:   m.MemoryLimit(),
			Offset:  m.FileOffset(),
			File:    d.str(m.FilenameStrindex()),
			BuildID: d.buildID(m),
		})
	}
	return d.mappings[index]
}

// buildIDKeys are the attributes that identify a mapped file, best first: the
// GNU build ID is what debuggers and symbol servers are asked by.
func buildIDKeys() []string {
	return []string{
		"process.executable.build_id.gnu",
		"process.executable.build_id.go",
		"process.executable.build_id.htlhash",
	}
}

func (d *dictionary) buildID(m pprofile.Mapping) string {
	keys := buildIDKeys()
	i := slices.IndexFunc(keys, func(key string) bool { return d.stringOf(m.AttributeIndices(), key) != "" })
	if i < 0 {
		return ""
	}
	return d.stringOf(m.AttributeIndices(), keys[i])
}

func stringAttr(attrs pcommon.Map, key string) string {
	if v, ok := attrs.Get(key); ok && v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return ""
}
