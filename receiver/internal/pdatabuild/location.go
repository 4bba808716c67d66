package pdatabuild

import (
	"encoding/binary"

	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

// unknownName stands for code about which nothing is known, not even a mapping.
const unknownName = "[unknown]"

// location interns a frame. A frame without a name has a location without
// lines, from whose mapping and address a reader makes a text or finds a name.
// If it has no mapping either, its address means nothing to anybody else and
// would only make every such location different: it is left out, and a line
// says [unknown].
func (d *dictionary) location(f *symbolize.Frame) int32 {
	if i, ok := d.frames[f]; ok {
		return i
	}
	key := location{mapping: d.mapping(f.Module), kind: d.frameType(f.Kind), tier: d.tier(f.Tier)}
	lines := f.Lines
	if key.mapping != 0 {
		key.address = uint64(f.Address)
		key.function = d.functionStart(f)
	} else if len(lines) == 0 {
		lines = unknownLines
	}
	functions := make([]int32, len(lines))
	var buf []byte
	for i := range lines {
		functions[i] = d.function(&lines[i], standsForNone(f))
		buf = appendLineBytes(buf, functions[i], lines[i].Line)
	}
	key.lines = string(buf)
	i, ok := d.locations[key]
	if !ok {
		i = d.addLocation(key, lines, functions)
	}
	d.frames[f] = i
	return i
}

// standsForNone tells that the line of a frame is no function's: the mark of a
// stack that was cut, and code of which nothing is known. Code that has a name
// has a kind, so on the wire these are told by their location, which has no
// attribute, and never by their name alone.
func standsForNone(f *symbolize.Frame) bool {
	return f == window.Truncated || len(f.Lines) == 0
}

var unknownLines = []symbolize.Line{{Name: unknownName}}

func (d *dictionary) addLocation(key location, lines []symbolize.Line, functions []int32) int32 {
	i := int32(d.out.LocationTable().Len())
	out := d.out.LocationTable().AppendEmpty()
	out.SetMappingIndex(key.mapping)
	out.SetAddress(key.address)
	size := scalarSize(uint64(key.mapping)) + scalarSize(key.address)
	attributes := 0 // bytes of their indices, which are packed
	for _, a := range [...]int32{key.kind, key.tier, key.function} {
		if a != 0 {
			out.AttributeIndices().Append(a)
			attributes += varintSize(uint64(a))
		}
	}
	if attributes > 0 {
		size += nestedSize(attributes)
	}
	out.Lines().EnsureCapacity(len(lines))
	for n := range lines {
		l := out.Lines().AppendEmpty()
		l.SetFunctionIndex(functions[n])
		l.SetLine(lines[n].Line)
		size += nestedSize(scalarSize(uint64(functions[n])) + scalarSize(uint64(lines[n].Line)))
	}
	d.locations[key] = i
	d.size += nestedSize(size)
	return i
}

// appendLineBytes appends one line of a location key.
func appendLineBytes(buf []byte, function int32, line int64) []byte {
	buf = binary.AppendUvarint(buf, uint64(function))
	return binary.AppendVarint(buf, line)
}

// frameType interns the attribute that says what sort of code a frame is.
func (d *dictionary) frameType(k symbolize.Kind) int32 {
	if k == symbolize.KindUnknown {
		return 0
	}
	return d.attribute(strAttribute(keyFrameType, k.String()))
}

// tier interns the attribute that says how generated code was compiled.
func (d *dictionary) tier(text string) int32 {
	if text == "" {
		return 0
	}
	return d.attribute(strAttribute(keyTier, text))
}

// functionStart interns the attribute that says in which function code without
// a name is.
func (d *dictionary) functionStart(f *symbolize.Frame) int32 {
	if len(f.Lines) > 0 || f.FunctionLimit == 0 {
		return 0
	}
	return d.attribute(intAttribute(keyFunction, int64(f.FunctionStart)))
}
