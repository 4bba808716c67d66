package profcheck

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
)

// valid returns a message that uses every table and has no problem.
func valid() *profiles.ProfilesData {
	return &profiles.ProfilesData{
		Dictionary: &profiles.ProfilesDictionary{
			StringTable: []string{"", "samples", "count", "cpu", "nanoseconds", "main", "/bin/a", "thread.name", "process.pid", "worker"},
			AttributeTable: []*profiles.KeyValueAndUnit{
				{},
				{KeyStrindex: 7, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "a"}}},
				{KeyStrindex: 7, Value: &common.AnyValue{Value: &common.AnyValue_StringValueStrindex{StringValueStrindex: 9}}},
			},
			FunctionTable: []*profiles.Function{{}, {NameStrindex: 5}},
			MappingTable:  []*profiles.Mapping{{}, {MemoryStart: 0x1000, MemoryLimit: 0x2000, FilenameStrindex: 6}},
			LocationTable: []*profiles.Location{
				{},
				{MappingIndex: 1, Address: 0x1000, Lines: []*profiles.Line{{FunctionIndex: 1, Line: 3}}},
				{MappingIndex: 1, Address: 0x1fff, Lines: []*profiles.Line{{FunctionIndex: 1, Line: 4}}},
			},
			StackTable: []*profiles.Stack{{}, {LocationIndices: []int32{1, 2}}, {LocationIndices: []int32{2, 1}}},
			LinkTable:  []*profiles.Link{{}, {TraceId: []byte("0123456789abcdef"), SpanId: []byte("01234567")}},
		},
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{
				{KeyStrindex: 8, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 1}}},
				{Key: "host.name", Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: "h"}}},
			}},
			ScopeProfiles: []*profiles.ScopeProfiles{{
				Scope: &common.InstrumentationScope{Name: "s"},
				Profiles: []*profiles.Profile{{
					SampleType:   &profiles.ValueType{TypeStrindex: 1, UnitStrindex: 2},
					PeriodType:   &profiles.ValueType{TypeStrindex: 3, UnitStrindex: 4},
					Period:       10101010,
					TimeUnixNano: 1000,
					DurationNano: 100,
					ProfileId:    []byte("0123456789abcdef"),
					Samples: []*profiles.Sample{
						{StackIndex: 1, AttributeIndices: []int32{1}, Values: []int64{3}},
						{StackIndex: 1, AttributeIndices: []int32{2}, Values: []int64{4}},
						{StackIndex: 2, LinkIndex: 1, Values: []int64{5}},
					},
				}},
			}},
		}},
	}
}

func profile(m *profiles.ProfilesData) *profiles.Profile {
	return m.ResourceProfiles[0].ScopeProfiles[0].Profiles[0]
}

func TestValid(t *testing.T) {
	encoded, err := proto.Marshal(valid())
	require.NoError(t, err)
	assert.Empty(t, Check(encoded))
}

// Each fault is reported with its place.
func TestFaults(t *testing.T) {
	dict := func(m *profiles.ProfilesData) *profiles.ProfilesDictionary { return m.Dictionary }
	str := func(s string) *common.AnyValue {
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
	}
	tests := []struct {
		name   string
		damage func(m *profiles.ProfilesData)
		want   string
	}{
		{"no dictionary", func(m *profiles.ProfilesData) { m.Dictionary = nil }, "dictionary: is missing"},

		{"string 0", func(m *profiles.ProfilesData) { dict(m).StringTable[0] = "x" }, `string_table[0]: must be empty, is "x"`},
		{"attribute 0", func(m *profiles.ProfilesData) { dict(m).AttributeTable[0].Value = str("x") }, "attribute_table[0]: must be the zero"},
		{"function 0", func(m *profiles.ProfilesData) { dict(m).FunctionTable[0].StartLine = 1 }, "function_table[0]: must be the zero"},
		{"mapping 0", func(m *profiles.ProfilesData) { dict(m).MappingTable[0].FileOffset = 1 }, "mapping_table[0]: must be the zero"},
		{"location 0", func(m *profiles.ProfilesData) { dict(m).LocationTable[0].Address = 1 }, "location_table[0]: must be the zero"},
		{"stack 0", func(m *profiles.ProfilesData) { dict(m).StackTable[0].LocationIndices = []int32{1} }, "stack_table[0]: must be the zero"},
		{"link 0", func(m *profiles.ProfilesData) { dict(m).LinkTable[0].SpanId = []byte("01234567") }, "link_table[0]: must be the zero"},
		{"empty table", func(m *profiles.ProfilesData) { dict(m).LinkTable = nil }, "link_table: must have the zero value at index 0"},

		{"name index", func(m *profiles.ProfilesData) { dict(m).FunctionTable[1].NameStrindex = 10 }, "function_table[1].name_strindex: 10 is outside string_table with 10 entries"},
		{"system name index", func(m *profiles.ProfilesData) { dict(m).FunctionTable[1].SystemNameStrindex = -1 }, "system_name_strindex: -1 is outside"},
		{"file name index", func(m *profiles.ProfilesData) { dict(m).FunctionTable[1].FilenameStrindex = 99 }, "filename_strindex: 99 is outside"},
		{"mapping file index", func(m *profiles.ProfilesData) { dict(m).MappingTable[1].FilenameStrindex = 99 }, "mapping_table[1].filename_strindex: 99 is outside"},
		{"mapping attribute", func(m *profiles.ProfilesData) { dict(m).MappingTable[1].AttributeIndices = []int32{9} }, "mapping_table[1].attribute_indices[0]: 9 is outside"},
		{"location mapping", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].MappingIndex = 2 }, "location_table[1].mapping_index: 2 is outside"},
		{"location attribute", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].AttributeIndices = []int32{9} }, "location_table[1].attribute_indices[0]: 9 is outside"},
		{"line function", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].Lines[0].FunctionIndex = 5 }, "location_table[1].lines[0].function_index: 5 is outside"},
		{"stack location", func(m *profiles.ProfilesData) { dict(m).StackTable[1].LocationIndices[0] = 7 }, "stack_table[1].location_indices[0]: 7 is outside"},
		{"zero location in stack", func(m *profiles.ProfilesData) { dict(m).StackTable[1].LocationIndices[0] = 0 }, "must not hold the zero location"},
		{"attribute key index", func(m *profiles.ProfilesData) { dict(m).AttributeTable[1].KeyStrindex = 99 }, "attribute_table[1].key_strindex: 99 is outside"},
		{"attribute unit index", func(m *profiles.ProfilesData) { dict(m).AttributeTable[1].UnitStrindex = 99 }, "attribute_table[1].unit_strindex: 99 is outside"},
		{"attribute value index", func(m *profiles.ProfilesData) {
			dict(m).AttributeTable[2].Value.Value.(*common.AnyValue_StringValueStrindex).StringValueStrindex = 99
		}, "attribute_table[2].value.string_value_strindex: 99 is outside"},
		{"attribute without key", func(m *profiles.ProfilesData) { dict(m).AttributeTable[1].KeyStrindex = 0 }, "an attribute must have a key"},
		{"attribute without value", func(m *profiles.ProfilesData) { dict(m).AttributeTable[1].Value = nil }, "attribute_table[1].value: is missing"},

		{"trace ID", func(m *profiles.ProfilesData) { dict(m).LinkTable[1].TraceId = []byte("short") }, "link_table[1].trace_id: must be 16 bytes"},
		{"zero trace ID", func(m *profiles.ProfilesData) { dict(m).LinkTable[1].TraceId = make([]byte, 16) }, "link_table[1].trace_id: must be 16 bytes"},
		{"span ID", func(m *profiles.ProfilesData) { dict(m).LinkTable[1].SpanId = nil }, "link_table[1].span_id: must be 8 bytes"},

		{"mapping limit", func(m *profiles.ProfilesData) { dict(m).MappingTable[1].MemoryLimit = 0x1000 }, "memory_limit 0x1000 is not above"},
		{"address below", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].Address = 0xfff }, "0xfff is outside its mapping [0x1000, 0x2000)"},
		{"address above", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].Address = 0x2000 }, "0x2000 is outside its mapping"},
		{"negative line", func(m *profiles.ProfilesData) { dict(m).LocationTable[1].Lines[0].Line = -1 }, "must not be negative"},

		{"equal strings", func(m *profiles.ProfilesData) { dict(m).StringTable[9] = "main" }, "string_table[9]: is the same as entry 5"},
		{"equal attributes", func(m *profiles.ProfilesData) { dict(m).AttributeTable[2] = proto.CloneOf(dict(m).AttributeTable[1]) }, "attribute_table[2]: is the same as entry 1"},
		{"equal functions", func(m *profiles.ProfilesData) {
			dict(m).FunctionTable = append(dict(m).FunctionTable, proto.CloneOf(dict(m).FunctionTable[1]))
		}, "function_table[2]: is the same as entry 1"},
		{"equal mappings, attributes in another order", func(m *profiles.ProfilesData) {
			other := proto.CloneOf(dict(m).MappingTable[1])
			dict(m).MappingTable[1].AttributeIndices = []int32{1, 2}
			other.AttributeIndices = []int32{2, 1}
			dict(m).MappingTable = append(dict(m).MappingTable, other)
		}, "mapping_table[2]: is the same as entry 1"},
		{"equal locations", func(m *profiles.ProfilesData) { dict(m).LocationTable[2] = proto.CloneOf(dict(m).LocationTable[1]) }, "location_table[2]: is the same as entry 1"},
		{"equal stacks", func(m *profiles.ProfilesData) { dict(m).StackTable[2].LocationIndices = []int32{1, 2} }, "stack_table[2]: is the same as entry 1"},
		{"equal links", func(m *profiles.ProfilesData) {
			dict(m).LinkTable = append(dict(m).LinkTable, proto.CloneOf(dict(m).LinkTable[1]))
		}, "link_table[2]: is the same as entry 1"},

		{"unused string", func(m *profiles.ProfilesData) { dict(m).StringTable = append(dict(m).StringTable, "x") }, "string_table[10]: is not used"},
		{"unused attribute", func(m *profiles.ProfilesData) { profile(m).Samples[1].AttributeIndices = nil }, "attribute_table[2]: is not used"},
		{"unused function", func(m *profiles.ProfilesData) {
			dict(m).FunctionTable = append(dict(m).FunctionTable, &profiles.Function{NameStrindex: 6})
		}, "function_table[2]: is not used"},
		{"unused mapping", func(m *profiles.ProfilesData) {
			dict(m).MappingTable = append(dict(m).MappingTable, &profiles.Mapping{MemoryLimit: 1})
		}, "mapping_table[2]: is not used"},
		{"unused location", func(m *profiles.ProfilesData) {
			dict(m).LocationTable = append(dict(m).LocationTable, &profiles.Location{Address: 1})
		}, "location_table[3]: is not used"},
		{"unused stack", func(m *profiles.ProfilesData) { profile(m).Samples = profile(m).Samples[:2] }, "stack_table[2]: is not used"},
		{"unused link", func(m *profiles.ProfilesData) { profile(m).Samples[2].LinkIndex = 0 }, "link_table[1]: is not used"},

		{"sample stack", func(m *profiles.ProfilesData) { profile(m).Samples[0].StackIndex = 3 }, "samples[0].stack_index: 3 is outside"},
		{"sample link", func(m *profiles.ProfilesData) { profile(m).Samples[0].LinkIndex = 3 }, "samples[0].link_index: 3 is outside"},
		{"sample attribute", func(m *profiles.ProfilesData) { profile(m).Samples[0].AttributeIndices[0] = 3 }, "samples[0].attribute_indices[0]: 3 is outside"},
		{"zero attribute", func(m *profiles.ProfilesData) { profile(m).Samples[0].AttributeIndices[0] = 0 }, "must not refer to the zero attribute"},
		{"key twice in a sample", func(m *profiles.ProfilesData) { profile(m).Samples[0].AttributeIndices = []int32{1, 2} }, `samples[0].attribute_indices[1]: repeats the key "thread.name"`},
		{"profile attribute", func(m *profiles.ProfilesData) { profile(m).AttributeIndices = []int32{9} }, "profiles[0].attribute_indices[0]: 9 is outside"},
		{"equal samples", func(m *profiles.ProfilesData) { profile(m).Samples[1].AttributeIndices = []int32{1} }, "samples[1]: has the stack, attributes and link of sample 0"},
		{"no value", func(m *profiles.ProfilesData) { profile(m).Samples[0].Values = nil }, "0 values and 0 timestamps are no legal shape"},
		{"two values", func(m *profiles.ProfilesData) { profile(m).Samples[0].Values = []int64{1, 2} }, "2 values and 0 timestamps are no legal shape"},
		{"unequal lengths", func(m *profiles.ProfilesData) {
			profile(m).Samples[0].Values = []int64{1, 2}
			profile(m).Samples[0].TimestampsUnixNano = []uint64{1000}
		}, "2 values and 1 timestamps are no legal shape"},
		{"mixed shapes", func(m *profiles.ProfilesData) {
			profile(m).Samples[1].Values = nil
			profile(m).Samples[1].TimestampsUnixNano = []uint64{1000}
		}, "samples[1]: has timestamps where others of the profile have one value"},
		{"timestamp before", func(m *profiles.ProfilesData) { profile(m).Samples[0].TimestampsUnixNano = []uint64{999} }, "timestamp 999 is outside the profile"},
		{"timestamp at the end", func(m *profiles.ProfilesData) { profile(m).Samples[0].TimestampsUnixNano = []uint64{1100} }, "timestamp 1100 is outside the profile"},

		{"sample type index", func(m *profiles.ProfilesData) { profile(m).SampleType.UnitStrindex = 99 }, "sample_type.unit_strindex: 99 is outside"},
		{"no sample type", func(m *profiles.ProfilesData) { profile(m).SampleType = nil }, "sample_type: must have a type"},
		{"negative period", func(m *profiles.ProfilesData) { profile(m).Period = -1 }, "period: must not be negative"},
		{"period without type", func(m *profiles.ProfilesData) { profile(m).PeriodType = nil }, "period_type: must have a type"},
		{"no time", func(m *profiles.ProfilesData) { profile(m).TimeUnixNano = 0 }, "time_unix_nano: is missing"},
		{"no duration", func(m *profiles.ProfilesData) { profile(m).DurationNano = 0 }, "duration_nano: is missing"},
		{"short profile ID", func(m *profiles.ProfilesData) { profile(m).ProfileId = []byte("x") }, "profile_id: must be 16 bytes"},
		{"profile ID twice", func(m *profiles.ProfilesData) {
			s := m.ResourceProfiles[0].ScopeProfiles[0]
			s.Profiles = append(s.Profiles, proto.CloneOf(s.Profiles[0]))
		}, "profiles[1].profile_id: is the same as"},

		{"resource key index", func(m *profiles.ProfilesData) { m.ResourceProfiles[0].Resource.Attributes[0].KeyStrindex = 99 }, "attributes[0].key_strindex: 99 is outside"},
		{"resource key twice", func(m *profiles.ProfilesData) { m.ResourceProfiles[0].Resource.Attributes[1].Key = "process.pid" }, `attributes[1]: repeats the key "process.pid"`},
		{"resource attribute without key", func(m *profiles.ProfilesData) { m.ResourceProfiles[0].Resource.Attributes[1].Key = "" }, "attributes[1]: has no key"},
		{"resource key both ways", func(m *profiles.ProfilesData) { m.ResourceProfiles[0].Resource.Attributes[0].Key = "k" }, "has both key and key_strindex"},
		{"resource value index", func(m *profiles.ProfilesData) {
			m.ResourceProfiles[0].Resource.Attributes[1].Value.Value = &common.AnyValue_StringValueStrindex{StringValueStrindex: 99}
		}, "attributes[1].value.string_value_strindex: 99 is outside"},
		{"scope key twice", func(m *profiles.ProfilesData) {
			a := &common.KeyValue{Key: "k", Value: str("v")}
			m.ResourceProfiles[0].ScopeProfiles[0].Scope.Attributes = []*common.KeyValue{a, a}
		}, `scope.attributes[1]: repeats the key "k"`},
		{"value in a list", func(m *profiles.ProfilesData) {
			bad := &common.AnyValue{Value: &common.AnyValue_StringValueStrindex{StringValueStrindex: 99}}
			m.ResourceProfiles[0].Resource.Attributes[1].Value.Value = &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{bad}}}
		}, "value[0].string_value_strindex: 99 is outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := valid()
			tt.damage(m)
			encoded, err := proto.Marshal(m)
			require.NoError(t, err)
			got := Check(encoded)
			assert.True(t, slices.ContainsFunc(got, func(p string) bool { return strings.Contains(p, tt.want) }),
				"want %q among %q", tt.want, got)
		})
	}
}

func TestInvalidUTF8(t *testing.T) {
	// The official package refuses to write it, so change a byte afterwards.
	encoded, err := proto.Marshal(valid())
	require.NoError(t, err)
	i := strings.Index(string(encoded), "worker")
	require.Positive(t, i)
	encoded[i] = 0xff
	got := Check(encoded)
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "UTF-8")
}

func TestUnknownField(t *testing.T) {
	m := valid()
	profile(m).Samples[0].ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	encoded, err := proto.Marshal(m)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"message.resource_profiles[0].scope_profiles[0].profiles[0].samples[0]: 3 bytes of unknown fields",
	}, Check(encoded))
}

func TestNotProtobuf(t *testing.T) {
	got := Check([]byte("\xff\xff\xff"))
	require.Len(t, got, 1)
	assert.Contains(t, got[0], "decode profiles")
}
