package stackgen

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Start is when the profiles of Profiles begin.
func Start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// Profiles returns the stacks as one OTLP message of ten seconds, a resource
// for each process. Inlined functions are locations of their own.
func (s *Set) Profiles() pprofile.Profiles {
	e := &encoder{Set: s, p: pprofile.NewProfiles(), strings: map[string]int32{}, mappings: map[string]int32{}}
	d := e.p.Dictionary()
	e.str("")
	d.MappingTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	d.AttributeTable().AppendEmpty()
	d.LinkTable().AppendEmpty()
	e.locations()
	profiles := map[int]pprofile.Profile{}
	for _, st := range s.Stacks {
		process := st.Frames[0]
		prof, ok := profiles[process]
		if !ok {
			prof = e.profile(s.Functions[process].Name)
			profiles[process] = prof
		}
		e.sample(prof, st)
	}
	return e.p
}

type encoder struct {
	*Set
	p        pprofile.Profiles
	strings  map[string]int32
	mappings map[string]int32
	byFunc   []int32 // location of each function
}

func (e *encoder) str(s string) int32 {
	if i, ok := e.strings[s]; ok {
		return i
	}
	i := int32(e.p.Dictionary().StringTable().Len())
	e.p.Dictionary().StringTable().Append(s)
	e.strings[s] = i
	return i
}

func (e *encoder) locations() {
	d := e.p.Dictionary()
	types := map[string]int32{}
	for i, f := range e.Functions {
		if _, ok := types[f.Type]; !ok {
			kv := d.AttributeTable().AppendEmpty()
			kv.SetKeyStrindex(e.str("profile.frame.type"))
			kv.Value().SetStr(f.Type)
			types[f.Type] = int32(d.AttributeTable().Len() - 1)
		}
		e.byFunc = append(e.byFunc, int32(d.LocationTable().Len()))
		loc := d.LocationTable().AppendEmpty()
		loc.SetMappingIndex(e.mapping(f.Module))
		loc.SetAddress(0x1000 + uint64(i)*64)
		loc.AttributeIndices().Append(types[f.Type])
		if f.Kind == callgraph.Unknown {
			continue
		}
		fn := d.FunctionTable().AppendEmpty()
		fn.SetNameStrindex(e.str(f.Name))
		loc.Lines().AppendEmpty().SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
	}
}

func (e *encoder) mapping(file string) int32 {
	if i, ok := e.mappings[file]; ok {
		return i
	}
	table := e.p.Dictionary().MappingTable()
	m := table.AppendEmpty()
	m.SetMemoryStart(0x1000)
	m.SetMemoryLimit(0x10000000)
	m.SetFilenameStrindex(e.str(file))
	i := int32(table.Len() - 1)
	e.mappings[file] = i
	return i
}

func (e *encoder) profile(process string) pprofile.Profile {
	rp := e.p.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("process.executable.name", process)
	rp.Resource().Attributes().PutStr("host.name", "host-a")
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(e.str("samples"))
	prof.SampleType().SetUnitStrindex(e.str("count"))
	prof.PeriodType().SetTypeStrindex(e.str("cpu"))
	prof.PeriodType().SetUnitStrindex(e.str("nanoseconds"))
	prof.SetPeriod(1_000_000_000 / 99)
	prof.SetTime(pcommon.NewTimestampFromTime(Start()))
	prof.SetDurationNano(uint64(10 * time.Second))
	return prof
}

func (e *encoder) sample(prof pprofile.Profile, st Stack) {
	table := e.p.Dictionary().StackTable()
	stack := table.AppendEmpty()
	for i := len(st.Frames) - 1; i > 0; i-- {
		stack.LocationIndices().Append(e.byFunc[st.Frames[i]])
	}
	s := prof.Samples().AppendEmpty()
	s.SetStackIndex(int32(table.Len() - 1))
	s.Values().Append(st.Count)
}
