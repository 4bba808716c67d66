package otlpcheck

import (
	"errors"
	"fmt"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// maxErrors bounds how many violations Check returns.
const maxErrors = 20

// checker walks one message. Each table has marks: true for entries in use.
type checker struct {
	dict *profiles.ProfilesDictionary
	errs []error

	strings, mappings, locations, functions, links, attributes, stacks marks
}

// marks say which entries of a table were reached.
type marks struct {
	table string
	used  []bool
}

// Check returns the violations in a message, nil if there are none.
func Check(request *collector.ExportProfilesServiceRequest) error {
	d := request.GetDictionary()
	if d == nil {
		return errors.New("no dictionary")
	}
	c := &checker{
		dict:       d,
		strings:    marks{"string", make([]bool, len(d.StringTable))},
		mappings:   marks{"mapping", make([]bool, len(d.MappingTable))},
		locations:  marks{"location", make([]bool, len(d.LocationTable))},
		functions:  marks{"function", make([]bool, len(d.FunctionTable))},
		links:      marks{"link", make([]bool, len(d.LinkTable))},
		attributes: marks{"attribute", make([]bool, len(d.AttributeTable))},
		stacks:     marks{"stack", make([]bool, len(d.StackTable))},
	}
	c.tables()
	for i, rp := range request.ResourceProfiles {
		c.resource(i, rp)
	}
	for _, m := range []marks{c.strings, c.mappings, c.locations, c.functions, c.links, c.attributes, c.stacks} {
		for i, used := range m.used {
			c.require(used || i == 0, "%s %d is not used", m.table, i)
		}
	}
	return errors.Join(c.errs...)
}

func (c *checker) require(ok bool, format string, args ...any) {
	if !ok && len(c.errs) < maxErrors {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// reach checks an index, marks its entry and reports whether it is in range and
// was not reached before.
func (c *checker) reach(m marks, index int32, from string) bool {
	if index < 0 || int(index) >= len(m.used) {
		c.require(false, "%s: %s index %d is not within the table of %d", from, m.table, index, len(m.used))
		return false
	}
	first := !m.used[index]
	m.used[index] = true
	return first
}

func (c *checker) resource(i int, rp *profiles.ResourceProfiles) {
	from := fmt.Sprintf("resource %d", i)
	c.plainAttributes(rp.GetResource().GetAttributes(), from)
	for _, sp := range rp.ScopeProfiles {
		c.plainAttributes(sp.GetScope().GetAttributes(), from+" scope")
		for j, p := range sp.Profiles {
			c.profile(p, fmt.Sprintf("%s profile %d", from, j))
		}
	}
}

// plainAttributes checks attributes of resources and scopes, whose keys and
// values may be references into the string table.
func (c *checker) plainAttributes(attributes []*common.KeyValue, from string) {
	seen := map[string]bool{}
	for _, a := range attributes {
		key := a.Key
		if a.KeyStrindex != 0 {
			c.require(key == "", "%s: attribute %q has a key reference as well", from, key)
			key = c.text(a.KeyStrindex, from)
		}
		if v, ok := a.GetValue().GetValue().(*common.AnyValue_StringValueStrindex); ok {
			c.text(v.StringValueStrindex, from)
		}
		c.require(key != "", "%s: attribute without a key", from)
		c.require(!seen[key], "%s: attribute %q twice", from, key)
		seen[key] = true
	}
}

// text returns the string at an index, "" if the index is out of range.
func (c *checker) text(index int32, from string) string {
	c.reach(c.strings, index, from)
	if index < 0 || int(index) >= len(c.dict.StringTable) {
		return ""
	}
	return c.dict.StringTable[index]
}

func (c *checker) profile(p *profiles.Profile, from string) {
	c.require(c.text(p.GetSampleType().GetTypeStrindex(), from) != "", "%s: sample type has no name", from)
	c.text(p.GetSampleType().GetUnitStrindex(), from)
	c.text(p.GetPeriodType().GetTypeStrindex(), from)
	c.text(p.GetPeriodType().GetUnitStrindex(), from)
	c.require(p.TimeUnixNano != 0, "%s: no time", from)
	c.require(len(p.ProfileId) == 0 || len(p.ProfileId) == 16, "%s: profile ID of %d bytes", from, len(p.ProfileId))
	c.reachAttributes(p.AttributeIndices, from)

	seen := map[string]bool{}
	for i, s := range p.Samples {
		at := fmt.Sprintf("%s sample %d", from, i)
		c.sample(p, s, at)
		identity := fmt.Sprint(s.StackIndex, s.LinkIndex, s.AttributeIndices)
		c.require(!seen[identity], "%s has the stack, attributes and link of an earlier one", at)
		seen[identity] = true
	}
}

func (c *checker) sample(p *profiles.Profile, s *profiles.Sample, from string) {
	c.reachStack(s.StackIndex, from)
	c.reach(c.links, s.LinkIndex, from)
	c.reachAttributes(s.AttributeIndices, from)

	values, times := len(s.Values), len(s.TimestampsUnixNano)
	c.require(values == 1 && times == 0 || values == 0 && times > 0 || values == times && times > 0,
		"%s has %d values and %d timestamps", from, values, times)
	for _, t := range s.TimestampsUnixNano {
		c.require(t >= p.TimeUnixNano && t < p.TimeUnixNano+p.DurationNano, "%s: timestamp outside the profile", from)
	}
}
