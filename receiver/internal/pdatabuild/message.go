package pdatabuild

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/receiver/internal/source"
	"github.com/flametel/flametel/receiver/internal/window"
	"github.com/flametel/flametel/symbolize"
)

// message is one Profiles under construction.
type message struct {
	*run
	out  pprofile.Profiles
	kept map[*source.Descriptor]uint64
	dict *dictionary
	// size is an upper bound of the encoded bytes outside the dictionary.
	size    int
	samples int

	resources map[*window.Process]pprofile.ProfilesSlice
	series    *window.Series // the one that open profiles belong to
	profiles  []*openProfile // one for each sample type
}

// openProfile is a profile that samples are being added to.
type openProfile struct {
	samples pprofile.SampleSlice
	index   map[sampleIdentity]int
}

// sampleIdentity is what makes samples one: equal ones must be added up.
type sampleIdentity struct {
	stack, name, id int32
	labels          string // indices of further attributes, four bytes each
}

// sizes outside the dictionary that do not depend on content.
const (
	// messageOverhead is the tag and length of the dictionary.
	messageOverhead = 16
	// resourceOverhead covers tags and lengths of ResourceProfiles, Resource,
	// ScopeProfiles and Scope.
	resourceOverhead = 64
	// profileOverhead covers a Profile without samples and attributes: tag,
	// length, time 9, duration 9, types 2 x 14, period 11, id 18.
	profileOverhead = 96
	// sampleOverhead covers a sample with one value and two attributes.
	sampleOverhead = 6 + 6 + 12 + 12
	// threadBytes covers the two attributes of a thread besides its name.
	threadBytes = 64
)

// fits tells whether the sample can be added without passing the bound.
func (m *message) fits(s *window.Series, sample *window.Sample) bool {
	free := m.MaxBytes - messageOverhead - m.size - m.dict.size
	if m.series != s {
		free -= m.resourceBound(s)
	}
	free -= len(s.Kind.SampleTypes)*sampleOverhead + threadBytes + stringBound(sample.Thread.Name)
	free -= labelsBound(sample.Thread.Labels) + len(s.Kind.SampleTypes)*labelIndexBytes(sample.Thread.Labels)
	frames := sample.Stack.Frames
	free -= nestedSize(5*len(frames)) + 8
	if free <= 0 {
		return false
	}
	return m.dict.bound(frames, nil) < free ||
		m.dict.bound(frames, make(map[*symbolize.Frame]struct{})) < free
}

// add adds a sample. It must fit.
func (m *message) add(s *window.Series, sample *window.Sample) {
	if m.series != s {
		m.open(s)
	}
	id := sampleIdentity{stack: m.dict.stack(sample.Stack.Frames)}
	if sample.Thread.Name != "" {
		id.name = m.dict.attribute(strAttribute(keyThreadName, sample.Thread.Name))
	}
	if sample.Thread.ID != 0 {
		id.id = m.dict.attribute(intAttribute(keyThreadID, int64(sample.Thread.ID)))
	}
	id.labels = m.dict.labels(sample.Thread.Labels)
	for i, p := range m.profiles {
		m.size += p.add(id, sample.Values[i])
	}
	m.kept[s.Kind] += sample.Count
	m.samples++
}

// add returns an upper bound of the bytes by which the encoded profile grew.
func (p *openProfile) add(id sampleIdentity, value int64) int {
	if n, ok := p.index[id]; ok {
		values := p.samples.At(n).Values()
		old := values.At(0)
		values.SetAt(0, old+value)
		return varintSize(uint64(old+value)) - varintSize(uint64(old))
	}
	p.index[id] = p.samples.Len()
	out := p.samples.AppendEmpty()
	out.SetStackIndex(id.stack)
	out.Values().Append(value)
	size := scalarSize(uint64(id.stack)) + nestedSize(varintSize(uint64(value)))
	var attrs []int32
	for _, a := range [...]int32{id.name, id.id} {
		if a != 0 {
			attrs = append(attrs, a)
		}
	}
	attrs = appendLabels(attrs, id.labels)
	if attrs != nil {
		out.AttributeIndices().FromRaw(attrs)
		size += indicesSize(attrs)
	}
	return nestedSize(size)
}

// open begins the profiles of a series, in the resource of its process.
func (m *message) open(s *window.Series) {
	profiles, ok := m.resources[s.Process]
	if !ok {
		rp := m.out.ResourceProfiles().AppendEmpty()
		fillResource(rp.Resource().Attributes(), s.Process, m.HostName)
		m.size += attributesBound(rp.Resource().Attributes())
		profiles = m.openScope(rp)
		m.resources[s.Process] = profiles
	}
	m.series, m.profiles = s, nil
	for i := range s.Kind.SampleTypes {
		p := m.openProfile(profiles, s.Kind, i)
		m.profiles = append(m.profiles, &openProfile{samples: p.Samples(), index: make(map[sampleIdentity]int)})
	}
}

func (m *message) openScope(rp pprofile.ResourceProfiles) pprofile.ProfilesSlice {
	sp := rp.ScopeProfiles().AppendEmpty()
	sp.Scope().SetName(ScopeName)
	sp.Scope().SetVersion(m.Version)
	m.size += resourceOverhead + len(ScopeName) + len(m.Version)
	return sp.Profiles()
}

// openProfile appends a profile for one sample type of a kind.
func (m *message) openProfile(profiles pprofile.ProfilesSlice, kind *source.Descriptor, sampleType int) pprofile.Profile {
	p := profiles.AppendEmpty()
	p.SetProfileID(m.NewID())
	p.SetTime(pcommon.NewTimestampFromTime(m.window.Start))
	p.SetDurationNano(uint64(m.window.End.UnixNano() - m.window.Start.UnixNano()))
	m.setType(p.SampleType(), kind.SampleTypes[sampleType])
	m.setType(p.PeriodType(), kind.PeriodType)
	p.SetPeriod(kind.Period)
	m.size += profileOverhead
	return p
}

func (m *message) setType(out pprofile.ValueType, t source.ValueType) {
	out.SetTypeStrindex(m.dict.str(t.Type))
	out.SetUnitStrindex(m.dict.str(t.Unit))
}
