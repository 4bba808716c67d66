package pdatabuild

import (
	"fmt"
	"io"
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// writeText writes a message with all references resolved, for people to review.
func writeText(w io.Writer, m *profiles.ProfilesData) {
	r := resolver{m.Dictionary}
	for _, rp := range m.ResourceProfiles {
		fmt.Fprintf(w, "resource %s\n", r.keyValues(rp.Resource.Attributes))
		for _, sp := range rp.ScopeProfiles {
			fmt.Fprintf(w, "  scope %s %s\n", sp.Scope.Name, sp.Scope.Version)
			for _, p := range sp.Profiles {
				r.profile(w, p)
			}
		}
	}
	d := m.Dictionary
	fmt.Fprintf(w, "tables: strings %d attributes %d functions %d mappings %d locations %d stacks %d links %d\n",
		len(d.StringTable), len(d.AttributeTable), len(d.FunctionTable), len(d.MappingTable), len(d.LocationTable), len(d.StackTable), len(d.LinkTable))
}

type resolver struct{ d *profiles.ProfilesDictionary }

func (r resolver) profile(w io.Writer, p *profiles.Profile) {
	fmt.Fprintf(w, "    profile %x %s/%s period %d %s/%s time %d +%d\n", p.ProfileId,
		r.str(p.SampleType.TypeStrindex), r.str(p.SampleType.UnitStrindex),
		p.Period, r.str(p.PeriodType.GetTypeStrindex()), r.str(p.PeriodType.GetUnitStrindex()),
		p.TimeUnixNano, p.DurationNano)
	for _, a := range p.AttributeIndices {
		fmt.Fprintf(w, "      %s\n", r.attribute(a))
	}
	for _, s := range p.Samples {
		fmt.Fprintf(w, "      sample %v %s\n", s.Values, r.attributes(s.AttributeIndices))
		for _, l := range r.d.StackTable[s.StackIndex].LocationIndices {
			r.location(w, r.d.LocationTable[l])
		}
	}
}

func (r resolver) location(w io.Writer, l *profiles.Location) {
	m := r.d.MappingTable[l.MappingIndex]
	fmt.Fprintf(w, "        %#x in %q [%#x %#x) +%#x %s %s\n", l.Address, r.str(m.FilenameStrindex),
		m.MemoryStart, m.MemoryLimit, m.FileOffset, r.attributes(m.AttributeIndices), r.attributes(l.AttributeIndices))
	for _, line := range l.Lines {
		f := r.d.FunctionTable[line.FunctionIndex]
		fmt.Fprintf(w, "          %s (%s) %s:%d from %d\n", r.str(f.NameStrindex), r.str(f.SystemNameStrindex),
			r.str(f.FilenameStrindex), line.Line, f.StartLine)
	}
}

func (r resolver) str(i int32) string { return r.d.StringTable[i] }

func (r resolver) attributes(indices []int32) string {
	out := make([]string, len(indices))
	for n, i := range indices {
		out[n] = r.attribute(i)
	}
	return "{" + strings.Join(out, " ") + "}"
}

func (r resolver) attribute(i int32) string {
	a := r.d.AttributeTable[i]
	s := r.str(a.KeyStrindex) + "=" + r.value(a.Value)
	if a.UnitStrindex != 0 {
		s += " " + r.str(a.UnitStrindex)
	}
	return s
}

func (r resolver) keyValues(kvs []*common.KeyValue) string {
	out := make([]string, len(kvs))
	for i, kv := range kvs {
		out[i] = kv.Key + r.str(kv.KeyStrindex) + "=" + r.value(kv.Value)
	}
	return strings.Join(out, " ")
}

func (r resolver) value(v *common.AnyValue) string {
	switch x := v.Value.(type) {
	case *common.AnyValue_StringValueStrindex:
		return fmt.Sprintf("%q", r.str(x.StringValueStrindex))
	case *common.AnyValue_StringValue:
		return fmt.Sprintf("%q", x.StringValue)
	case *common.AnyValue_IntValue:
		return fmt.Sprint(x.IntValue)
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(x.BoolValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprintf("%g", x.DoubleValue)
	}
	return fmt.Sprint(v)
}
