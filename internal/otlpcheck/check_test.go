package otlpcheck

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"
)

// valid returns a message without violations: one sample of one frame.
func valid() *collector.ExportProfilesServiceRequest {
	return &collector.ExportProfilesServiceRequest{
		Dictionary: &profiles.ProfilesDictionary{
			StringTable:    []string{"", "samples", "count", "main", "thread.name", "process.pid", "/bin/app"},
			MappingTable:   []*profiles.Mapping{{}, {MemoryStart: 0x1000, MemoryLimit: 0x2000, FilenameStrindex: 6}},
			LocationTable:  []*profiles.Location{{}, {MappingIndex: 1, Address: 0x1100, Lines: []*profiles.Line{{FunctionIndex: 1}}}},
			FunctionTable:  []*profiles.Function{{}, {NameStrindex: 3}},
			LinkTable:      []*profiles.Link{{}},
			AttributeTable: []*profiles.KeyValueAndUnit{{}, {KeyStrindex: 4, Value: text("worker")}},
			StackTable:     []*profiles.Stack{{}, {LocationIndices: []int32{1}}},
		},
		ResourceProfiles: []*profiles.ResourceProfiles{{
			Resource: &resource.Resource{Attributes: []*common.KeyValue{{KeyStrindex: 5, Value: text("1")}}},
			ScopeProfiles: []*profiles.ScopeProfiles{{Profiles: []*profiles.Profile{{
				SampleType:   &profiles.ValueType{TypeStrindex: 1, UnitStrindex: 2},
				TimeUnixNano: 1000, DurationNano: 10,
				Samples: []*profiles.Sample{{StackIndex: 1, AttributeIndices: []int32{1}, Values: []int64{7}}},
			}}}},
		}},
	}
}

func text(s string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: s}}
}

func TestValidMessagePasses(t *testing.T) {
	t.Parallel()
	require.NoError(t, Check(valid()))
}

func TestViolationsAreFound(t *testing.T) {
	t.Parallel()
	type (
		request = *collector.ExportProfilesServiceRequest
		dict    = *profiles.ProfilesDictionary
		profile = *profiles.Profile
	)
	for name, test := range map[string]struct {
		want string
		bend func(request, dict, profile)
	}{
		"no dictionary":        {"no dictionary", func(r request, _ dict, _ profile) { r.Dictionary = nil }},
		"index 0 of strings":   {"string 0 is not empty", func(_ request, d dict, _ profile) { d.StringTable[0] = "x" }},
		"index 0 of functions": {"function 0 is not the zero value", func(_ request, d dict, _ profile) { d.FunctionTable[0].StartLine = 1 }},
		"no entry in links":    {"the link table has no entry 0", func(_ request, d dict, _ profile) { d.LinkTable = nil }},
		"string twice": {"string 7 is an entry twice", func(_ request, d dict, _ profile) {
			d.StringTable = append(d.StringTable, "main")
		}},
		"function twice": {"function 2 equals function 1", func(_ request, d dict, _ profile) {
			d.FunctionTable = append(d.FunctionTable, &profiles.Function{NameStrindex: 3})
		}},
		"orphan string": {"string 7 is not used", func(_ request, d dict, _ profile) {
			d.StringTable = append(d.StringTable, "orphan")
		}},
		"orphan link": {"link 1 is not used", func(_ request, d dict, _ profile) {
			d.LinkTable = append(d.LinkTable, &profiles.Link{TraceId: make([]byte, 16), SpanId: make([]byte, 8)})
		}},
		"short link IDs":         {"link 1 has IDs of 0 and 0 bytes", func(_ request, d dict, _ profile) { d.LinkTable = append(d.LinkTable, &profiles.Link{}) }},
		"stack out of range":     {"stack index 9", func(_ request, _ dict, p profile) { p.Samples[0].StackIndex = 9 }},
		"location negative":      {"location index -1", func(_ request, d dict, _ profile) { d.StackTable[1].LocationIndices[0] = -1 }},
		"location 0 in a stack":  {"location 0 stands for none", func(_ request, d dict, _ profile) { d.StackTable[1].LocationIndices[0] = 0 }},
		"function out of range":  {"function index 5", func(_ request, d dict, _ profile) { d.LocationTable[1].Lines[0].FunctionIndex = 5 }},
		"function without name":  {"function 1 has no name", func(_ request, d dict, _ profile) { d.FunctionTable[1] = &profiles.Function{StartLine: 3} }},
		"attribute out of range": {"attribute index 8", func(_ request, _ dict, p profile) { p.Samples[0].AttributeIndices[0] = 8 }},
		"attribute twice": {`attribute "thread.name" twice`, func(_ request, _ dict, p profile) {
			p.Samples[0].AttributeIndices = []int32{1, 1}
		}},
		"resource attribute twice": {`attribute "process.pid" twice`, func(r request, _ dict, _ profile) {
			a := &r.ResourceProfiles[0].Resource.Attributes
			*a = append(*a, &common.KeyValue{Key: "process.pid", Value: text("2")})
		}},
		"location with nothing": {"location 1 has neither", func(_ request, d dict, _ profile) {
			d.LocationTable[1] = &profiles.Location{Address: 5}
		}},
		"mapping backwards":   {"mapping 1 ends at 0x2000", func(_ request, d dict, _ profile) { d.MappingTable[1].MemoryStart = 0x3000 }},
		"no time":             {"no time", func(_ request, _ dict, p profile) { p.TimeUnixNano = 0 }},
		"no sample type":      {"sample type has no name", func(_ request, _ dict, p profile) { p.SampleType = nil }},
		"two values":          {"2 values and 0 timestamps", func(_ request, _ dict, p profile) { p.Samples[0].Values = []int64{1, 2} }},
		"timestamp too late":  {"timestamp outside", func(_ request, _ dict, p profile) { p.Samples[0].TimestampsUnixNano = []uint64{1010} }},
		"timestamp too early": {"timestamp outside", func(_ request, _ dict, p profile) { p.Samples[0].TimestampsUnixNano = []uint64{999} }},
		"sample twice": {"sample 1 has the stack", func(_ request, _ dict, p profile) {
			p.Samples = append(p.Samples, p.Samples[0])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := valid()
			test.bend(r, r.Dictionary, r.ResourceProfiles[0].ScopeProfiles[0].Profiles[0])
			assert.ErrorContains(t, Check(r), test.want)
		})
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	body, err := proto.Marshal(valid())
	require.NoError(t, err)
	_, err = Decode(body)
	require.NoError(t, err)

	r := valid()
	r.Dictionary.FunctionTable[1].ProtoReflect().SetUnknown([]byte{0x78, 0x01}) // field 15, varint 1
	body, err = proto.Marshal(r)
	require.NoError(t, err)
	_, err = Decode(body)
	assert.ErrorContains(t, err, "Function has 2 bytes of unknown fields")

	_, err = Decode([]byte{0xff})
	assert.Error(t, err)
}
