package callgraph_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
)

func itoa(v int64) string { return strconv.FormatInt(v, 10) }

// message builds an OTLP message entry by entry, without merging anything.
type message struct {
	pprofile.Profiles
	pprofile.ProfilesDictionary
}

// functionIndex is an index in the function table, as opposed to an address.
type functionIndex int32

func newMessage() *message {
	p := pprofile.NewProfiles()
	d := p.Dictionary()
	d.StringTable().Append("")
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	return &message{p, d}
}

func (m *message) str(s string) int32 {
	m.StringTable().Append(s)
	return int32(m.StringTable().Len() - 1)
}

func (m *message) attribute(key, value string) int32 {
	kv := m.AttributeTable().AppendEmpty()
	kv.SetKeyStrindex(m.str(key))
	kv.Value().SetStr(value)
	return int32(m.AttributeTable().Len() - 1)
}

func (m *message) intAttribute(key string, value int64) int32 {
	i := m.attribute(key, "")
	m.AttributeTable().At(int(i)).Value().SetInt(value)
	return i
}

func (m *message) function(name string) functionIndex {
	m.FunctionTable().AppendEmpty().SetNameStrindex(m.str(name))
	return functionIndex(m.FunctionTable().Len() - 1)
}

// mapping covers [0x1000, 0x9000) and was mapped from offset 0x2000.
func (m *message) mapping(file string) int32 {
	e := m.MappingTable().AppendEmpty()
	e.SetMemoryStart(0x1000)
	e.SetMemoryLimit(0x9000)
	e.SetFileOffset(0x2000)
	e.SetFilenameStrindex(m.str(file))
	return int32(m.MappingTable().Len() - 1)
}

// location takes functions, innermost first, and strings, the frame type.
func (m *message) location(mapping int32, address uint64, parts ...any) int32 {
	loc := m.LocationTable().AppendEmpty()
	i := int32(m.LocationTable().Len() - 1)
	loc.SetMappingIndex(mapping)
	loc.SetAddress(address)
	for _, p := range parts {
		switch p := p.(type) {
		case functionIndex:
			loc.Lines().AppendEmpty().SetFunctionIndex(int32(p))
		case string:
			loc.AttributeIndices().Append(m.attribute("profile.frame.type", p))
		}
	}
	return i
}

// within is a location of which is known where its function begins.
func (m *message) within(mapping int32, address uint64, function int64) int32 {
	i := m.location(mapping, address, "native")
	m.LocationTable().At(int(i)).AttributeIndices().Append(m.intAttribute("flametel.function.address", function))
	return i
}

func (m *message) stack(locations ...int32) int32 {
	m.StackTable().AppendEmpty().LocationIndices().FromRaw(locations)
	return int32(m.StackTable().Len() - 1)
}

func (m *message) profile(process string) pprofile.Profile {
	return m.typed(process, "samples", "count", "cpu", "nanoseconds")
}

func (m *message) typed(process, sampleType, unit, periodType, periodUnit string) pprofile.Profile {
	rp := m.ResourceProfiles().AppendEmpty()
	if process != "" {
		rp.Resource().Attributes().PutStr("process.executable.name", process)
	}
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(m.str(sampleType))
	prof.SampleType().SetUnitStrindex(m.str(unit))
	prof.PeriodType().SetTypeStrindex(m.str(periodType))
	prof.PeriodType().SetUnitStrindex(m.str(periodUnit))
	return prof
}

// accounting gives all profiles of a host, so far without one, that host.
func (m *message) accounting(host string, attrs map[string]any) pprofile.Profile {
	for _, rp := range m.ResourceProfiles().All() {
		if _, ok := rp.Resource().Attributes().Get("host.name"); !ok {
			rp.Resource().Attributes().PutStr("host.name", host)
		}
	}
	prof := m.profile("")
	resource := m.ResourceProfiles().At(m.ResourceProfiles().Len() - 1).Resource().Attributes()
	resource.PutStr("host.name", host)
	resource.PutBool("flametel.accounting", true)
	for key, value := range attrs {
		i := m.attribute(key, "")
		if err := m.AttributeTable().At(int(i)).Value().FromRaw(value); err != nil {
			panic(err)
		}
		prof.AttributeIndices().Append(i)
	}
	return prof
}

func (m *message) sample(prof pprofile.Profile, stack int32, value int64) pprofile.Sample {
	s := prof.Samples().AppendEmpty()
	s.SetStackIndex(stack)
	s.Values().Append(value)
	return s
}

// checkInvariants checks what every encoder relies on.
func checkInvariants(t testing.TB, g *callgraph.Graph) {
	t.Helper()
	require.NotEmpty(t, g.Nodes)
	require.Equal(t, int32(-1), g.Nodes[0].Frame)
	require.Equal(t, int32(len(g.Nodes)), g.Nodes[0].End)
	used := make([]bool, len(g.Frames))
	for i := 1; i < len(g.Frames); i++ {
		require.Negative(t, g.Frames[i-1].Compare(&g.Frames[i]), "frames are distinct and sorted")
	}
	lastChild := map[int32]int32{}
	for i := 1; i < len(g.Nodes); i++ {
		n := g.Nodes[i]
		require.Less(t, n.Parent, int32(i))
		require.LessOrEqual(t, n.End, g.Nodes[n.Parent].End)
		require.Greater(t, n.End, int32(i))
		used[n.Frame] = true
		if last, ok := lastChild[n.Parent]; ok {
			require.Greater(t, n.Frame, last, "siblings are distinct and sorted")
		}
		lastChild[n.Parent] = n.Frame
	}
	require.NotContains(t, used, false)
	for w := range g.Self {
		totals := g.Totals(w)
		require.Equal(t, g.Total(w), totals[0])
		for i, v := range totals {
			require.GreaterOrEqual(t, v, g.Self[w][i])
			require.GreaterOrEqual(t, g.Self[w][i], int64(0))
		}
	}
}
