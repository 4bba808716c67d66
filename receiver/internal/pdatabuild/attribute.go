package pdatabuild

import (
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Attribute keys, by the OpenTelemetry semantic conventions v1.43.0.
const (
	keyFrameType      = "profile.frame.type"
	keyGNUBuildID     = "process.executable.build_id.gnu"
	keyGoBuildID      = "process.executable.build_id.go"
	keyThreadName     = "thread.name"
	keyThreadID       = "thread.id"
	keyPID            = "process.pid"
	keyExecutableName = "process.executable.name"
	keyExecutablePath = "process.executable.path"
	keyCommandLine    = "process.command_line"
	keyCgroup         = "process.linux.cgroup"
	keyContainerID    = "container.id"
	keyServiceName    = "service.name"
	keyHostName       = "host.name"
	keyOSType         = "os.type"
	// keyTier is ours: the conventions have nothing for how a runtime compiled
	// a function, which its name no longer tells.
	keyTier = "flametel.frame.tier"
	// keyFunction, too, is ours: where the function of a location without lines
	// begins, as a file address like that of the location.
	keyFunction = "flametel.function.address"
)

// attribute is an entry of the attribute table by content. bits holds an
// integer, or a double as its IEEE 754 bits.
type attribute struct {
	key, unit string
	kind      pcommon.ValueType
	str       string
	bits      uint64
}

func strAttribute(key, value string) attribute {
	return attribute{key: key, kind: pcommon.ValueTypeStr, str: sanitize(value)}
}

func intAttribute(key string, value int64) attribute {
	return attribute{key: key, kind: pcommon.ValueTypeInt, bits: uint64(value)}
}

func doubleAttribute(key, unit string, value float64) attribute {
	return attribute{key: key, unit: unit, kind: pcommon.ValueTypeDouble, bits: math.Float64bits(value)}
}

// attribute interns an attribute.
func (d *dictionary) attribute(a attribute) int32 {
	if i, ok := d.attrs[a]; ok {
		return i
	}
	i := int32(d.out.AttributeTable().Len())
	out := d.out.AttributeTable().AppendEmpty()
	key, unit := d.str(a.key), d.str(a.unit)
	out.SetKeyStrindex(key)
	out.SetUnitStrindex(unit)
	size := scalarSize(uint64(key)) + scalarSize(uint64(unit))
	// A value is a oneof, so it is encoded even if it is zero.
	switch a.kind {
	case pcommon.ValueTypeStr:
		out.Value().SetStr(a.str)
		size += nestedSize(nestedSize(len(a.str)))
	case pcommon.ValueTypeDouble:
		out.Value().SetDouble(math.Float64frombits(a.bits))
		size += nestedSize(1 + 8)
	default:
		out.Value().SetInt(int64(a.bits))
		size += nestedSize(1 + varintSize(a.bits))
	}
	d.attrs[a] = i
	d.size += nestedSize(size)
	return i
}
