package profcheck

import (
	"fmt"
	"slices"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

func (c *checker) resource(path string, rp *profiles.ResourceProfiles) {
	c.keyValues(path+".resource.attributes", rp.GetResource().GetAttributes())
	for i, sp := range rp.ScopeProfiles {
		scope := fmt.Sprintf("%s.scope_profiles[%d]", path, i)
		c.keyValues(scope+".scope.attributes", sp.GetScope().GetAttributes())
		for n, p := range sp.Profiles {
			c.profile(fmt.Sprintf("%s.profiles[%d]", scope, n), p)
		}
	}
}

func (c *checker) profile(path string, p *profiles.Profile) {
	c.valueType(path+".sample_type", p.SampleType)
	if p.GetSampleType().GetTypeStrindex() == 0 {
		c.report(path+".sample_type", "must have a type")
	}
	c.valueType(path+".period_type", p.PeriodType)
	if p.Period < 0 {
		c.report(path+".period", "must not be negative, is %d", p.Period)
	}
	if p.Period > 0 && p.GetPeriodType().GetTypeStrindex() == 0 {
		c.report(path+".period_type", "must have a type, because there is a period")
	}
	if p.TimeUnixNano == 0 {
		c.report(path+".time_unix_nano", "is missing")
	}
	if p.DurationNano == 0 && len(p.Samples) > 0 {
		c.report(path+".duration_nano", "is missing")
	}
	c.profileID(path+".profile_id", p.ProfileId)
	c.attributes(path, p.AttributeIndices)
	c.samples(path, p)
}

func (c *checker) valueType(path string, t *profiles.ValueType) {
	c.index(path+".type_strindex", tableString, t.GetTypeStrindex())
	c.index(path+".unit_strindex", tableString, t.GetUnitStrindex())
}

func (c *checker) profileID(path string, id []byte) {
	switch {
	case len(id) == 0:
	case len(id) != 16 || allZero(id):
		c.report(path, "must be 16 bytes that are not all zero")
	default:
		if other, ok := c.ids[string(id)]; ok {
			c.report(path, "is the same as %s", other)
		}
		c.ids[string(id)] = path
	}
}

// The three legal shapes of samples, of which a profile has one.
const (
	shapeValue      = "one value"
	shapeTimestamps = "timestamps"
	shapeBoth       = "values and timestamps"
)

func shape(s *profiles.Sample) (string, bool) {
	values, timestamps := len(s.Values), len(s.TimestampsUnixNano)
	switch {
	case timestamps == 0:
		return shapeValue, values == 1
	case values == 0:
		return shapeTimestamps, true
	default:
		return shapeBoth, values == timestamps
	}
}

func (c *checker) samples(path string, p *profiles.Profile) {
	seen := make(map[string]int, len(p.Samples))
	first := ""
	for i, s := range p.Samples {
		at := fmt.Sprintf("%s.samples[%d]", path, i)
		c.index(at+".stack_index", tableStack, s.StackIndex)
		c.index(at+".link_index", tableLink, s.LinkIndex)
		c.attributes(at, s.AttributeIndices)

		form, ok := shape(s)
		if !ok {
			c.report(at, "%d values and %d timestamps are no legal shape", len(s.Values), len(s.TimestampsUnixNano))
		}
		if first == "" {
			first = form
		} else if form != first {
			c.report(at, "has %s where others of the profile have %s", form, first)
		}
		c.timestamps(at, p, s)

		id := identity(s)
		if other, ok := seen[id]; ok {
			c.report(at, "has the stack, attributes and link of sample %d", other)
		} else {
			seen[id] = i
		}
	}
}

// timestamps checks that all lie in [time, time + duration).
func (c *checker) timestamps(path string, p *profiles.Profile, s *profiles.Sample) {
	for _, t := range s.TimestampsUnixNano {
		if t < p.TimeUnixNano || t-p.TimeUnixNano >= p.DurationNano {
			c.report(path, "timestamp %d is outside the profile [%d, +%d)", t, p.TimeUnixNano, p.DurationNano)
			return
		}
	}
}

func identity(s *profiles.Sample) string {
	attrs := slices.Sorted(slices.Values(s.AttributeIndices))
	return fmt.Sprint(s.StackIndex, s.LinkIndex, attrs)
}

// attributes checks a list of references to the attribute table: no key twice.
func (c *checker) attributes(path string, indices []int32) {
	keys := make(map[int32]bool, len(indices))
	for n, i := range indices {
		at := fmt.Sprintf("%s.attribute_indices[%d]", path, n)
		if !c.index(at, tableAttribute, i) {
			continue
		}
		if i == 0 {
			c.report(at, "must not refer to the zero attribute")
			continue
		}
		key := c.dict.AttributeTable[i].KeyStrindex
		if keys[key] {
			c.report(at, "repeats the key %q", c.str(key))
		}
		keys[key] = true
	}
}

// keyValues checks attributes of a resource or scope, whose keys and strings
// may be references.
func (c *checker) keyValues(path string, kvs []*common.KeyValue) {
	keys := make(map[string]bool, len(kvs))
	for i, kv := range kvs {
		at := fmt.Sprintf("%s[%d]", path, i)
		key := kv.Key
		if kv.KeyStrindex != 0 {
			if key != "" {
				c.report(at, "has both key and key_strindex")
			}
			if !c.index(at+".key_strindex", tableString, kv.KeyStrindex) {
				continue
			}
			key = c.str(kv.KeyStrindex)
		}
		if key == "" {
			c.report(at, "has no key")
		}
		if keys[key] {
			c.report(at, "repeats the key %q", key)
		}
		keys[key] = true
		c.value(at+".value", kv.Value)
	}
}

func (c *checker) str(i int32) string {
	if i < 0 || int(i) >= len(c.dict.StringTable) {
		return ""
	}
	return c.dict.StringTable[i]
}
