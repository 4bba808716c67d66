package pdatabuild

import (
	"hash/maphash"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/symbolize"
)

// dictionary interns what the profiles of one message refer to. All indices
// are those of the pdata tables; 0 is the zero value of each.
type dictionary struct {
	out pprofile.ProfilesDictionary
	// size is the number of bytes that the tables take when encoded.
	size int

	strings   map[string]int32
	attrs     map[attribute]int32
	functions map[function]int32
	mappings  map[mapping]int32
	locations map[location]int32

	seed   maphash.Seed
	stacks map[uint64]int32 // newest stack of a hash
	older  []int32          // by stack: the next older one of the same hash, 0 for none

	// frames and modules save the look-up by content for an address seen before.
	frames  map[*symbolize.Frame]int32
	modules map[*symbolize.Module]int32

	scratch []int32
}

// function, mapping and location are the entries by content.
type function struct {
	name, system, file int32
	startLine          int64
}

type mapping struct {
	start, limit, offset uint64
	file, gnu, golang    int32 // string index; attribute indices, 0 for none
}

type location struct {
	mapping    int32
	kind, tier int32 // attribute indices, 0 for none
	function   int32 // likewise
	address    uint64
	lines      string // the lines as bytes, see lineBytes
}

func newDictionary(out pprofile.ProfilesDictionary) *dictionary {
	d := &dictionary{
		out:       out,
		strings:   map[string]int32{"": 0},
		attrs:     make(map[attribute]int32),
		functions: map[function]int32{{}: 0},
		mappings:  map[mapping]int32{{}: 0},
		locations: make(map[location]int32),
		seed:      maphash.MakeSeed(),
		stacks:    make(map[uint64]int32),
		older:     []int32{0},
		frames:    make(map[*symbolize.Frame]int32),
		modules:   make(map[*symbolize.Module]int32),
	}
	out.StringTable().Append("")
	out.AttributeTable().AppendEmpty()
	out.FunctionTable().AppendEmpty()
	out.MappingTable().AppendEmpty()
	out.LocationTable().AppendEmpty()
	out.StackTable().AppendEmpty()
	out.LinkTable().AppendEmpty()
	// Seven entries, of which links and attributes may encode their fields even
	// when those are zero.
	d.size = 7*nestedSize(0) + zeroEntryBytes
	return d
}

// zeroEntryBytes covers what the seven zero entries hold besides their tags: an
// attribute has an empty value, a link empty identifiers.
const zeroEntryBytes = 64

// str interns a string of any bytes.
func (d *dictionary) str(s string) int32 {
	if i, ok := d.strings[s]; ok {
		return i
	}
	s = sanitize(s)
	if i, ok := d.strings[s]; ok {
		return i
	}
	i := int32(d.out.StringTable().Len())
	d.out.StringTable().Append(s)
	d.strings[s] = i
	d.size += nestedSize(len(s))
	return i
}

// function interns a function, or what stands for none.
func (d *dictionary) function(l *symbolize.Line, none bool) int32 {
	name, system := l.Name, l.SystemName
	if name == "" {
		name = unknownName
	} else if !none {
		if name = unreserved(name); name != l.Name && system == "" {
			system = l.Name
		}
	}
	key := function{name: d.str(name), system: d.str(system), file: d.str(l.File), startLine: l.StartLine}
	if i, ok := d.functions[key]; ok {
		return i
	}
	i := int32(d.out.FunctionTable().Len())
	f := d.out.FunctionTable().AppendEmpty()
	f.SetNameStrindex(key.name)
	f.SetSystemNameStrindex(key.system)
	f.SetFilenameStrindex(key.file)
	f.SetStartLine(key.startLine)
	d.functions[key] = i
	d.size += nestedSize(scalarSize(uint64(key.name)) + scalarSize(uint64(key.system)) +
		scalarSize(uint64(key.file)) + scalarSize(uint64(key.startLine)))
	return i
}

func (d *dictionary) mapping(m *symbolize.Module) int32 {
	if m == nil || m.Path == "" {
		return 0
	}
	if i, ok := d.modules[m]; ok {
		return i
	}
	i := d.addMapping(m)
	d.modules[m] = i
	return i
}

func (d *dictionary) addMapping(m *symbolize.Module) int32 {
	key := mapping{start: uint64(m.Start), limit: uint64(m.Limit), offset: uint64(m.Offset), file: d.str(m.Path)}
	var attrs []int32
	if m.GNUBuildID != "" {
		key.gnu = d.attribute(strAttribute(keyGNUBuildID, m.GNUBuildID))
		attrs = append(attrs, key.gnu)
	}
	if m.GoBuildID != "" {
		key.golang = d.attribute(strAttribute(keyGoBuildID, m.GoBuildID))
		attrs = append(attrs, key.golang)
	}
	if i, ok := d.mappings[key]; ok {
		return i
	}
	i := int32(d.out.MappingTable().Len())
	out := d.out.MappingTable().AppendEmpty()
	out.SetMemoryStart(key.start)
	out.SetMemoryLimit(key.limit)
	out.SetFileOffset(key.offset)
	out.SetFilenameStrindex(key.file)
	out.AttributeIndices().FromRaw(attrs)
	d.mappings[key] = i
	d.size += nestedSize(scalarSize(key.start) + scalarSize(key.limit) + scalarSize(key.offset) +
		scalarSize(uint64(key.file)) + indicesSize(attrs))
	return i
}

// stack interns a stack, leaf first.
func (d *dictionary) stack(frames []*symbolize.Frame) int32 {
	if len(frames) == 0 {
		return 0
	}
	d.scratch = d.scratch[:0]
	for _, f := range frames {
		d.scratch = append(d.scratch, d.location(f))
	}
	hash := maphash.Bytes(d.seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(d.scratch))), 4*len(d.scratch)))
	for i := d.stacks[hash]; i != 0; i = d.older[i] {
		if d.isStack(i, d.scratch) {
			return i
		}
	}
	i := int32(d.out.StackTable().Len())
	d.out.StackTable().AppendEmpty().LocationIndices().FromRaw(d.scratch)
	d.older = append(d.older, d.stacks[hash])
	d.stacks[hash] = i
	d.size += nestedSize(indicesSize(d.scratch))
	return i
}

func (d *dictionary) isStack(i int32, want []int32) bool {
	have := d.out.StackTable().At(int(i)).LocationIndices()
	if have.Len() != len(want) {
		return false
	}
	for n, w := range want {
		if have.At(n) != w {
			return false
		}
	}
	return true
}
