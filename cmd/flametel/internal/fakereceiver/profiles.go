package fakereceiver

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

// Frame is a function with its frame type, such as native or kernel. Without a
// name it is an address in Module.
type Frame struct {
	Name, Type, Module string
}

// Stack is a stack of a process, leaf first, and how often it was sampled.
type Stack struct {
	PID     int64
	Process string
	Frames  []Frame
	Count   int64
}

// Accounting is what the profiler says about its samples, by the name of the
// attribute without "flametel.".
type Accounting map[string]any

// Data is what the receiver sends.
type Data struct {
	Stacks     []Stack
	Accounting Accounting // nil: none
	Duration   time.Duration
}

// Profiles makes one message of the data.
func (d Data) Profiles() pprofile.Profiles {
	b := &builder{out: pprofile.NewProfiles(), strings: map[string]int32{}}
	dict := b.out.Dictionary()
	// The first entry of every table is the zero value.
	dict.MappingTable().AppendEmpty()
	dict.LocationTable().AppendEmpty()
	dict.FunctionTable().AppendEmpty()
	dict.StackTable().AppendEmpty()
	dict.AttributeTable().AppendEmpty()
	b.str("")
	if d.Accounting != nil {
		attrs, prof := b.profile(d.Duration)
		attrs.PutBool("flametel.accounting", true)
		for key, v := range d.Accounting {
			prof.AttributeIndices().Append(b.attribute("flametel."+key, v))
		}
	}
	for _, s := range d.Stacks {
		attrs, prof := b.profile(d.Duration)
		attrs.PutInt("process.pid", s.PID)
		attrs.PutStr("process.executable.name", s.Process)
		sample := prof.Samples().AppendEmpty()
		sample.Values().Append(s.Count)
		sample.SetStackIndex(b.stack(s.Frames))
	}
	return b.out
}

type builder struct {
	out     pprofile.Profiles
	strings map[string]int32
}

func (b *builder) str(s string) int32 {
	i, known := b.strings[s]
	if !known {
		table := b.out.Dictionary().StringTable()
		i = int32(table.Len())
		table.Append(s)
		b.strings[s] = i
	}
	return i
}

func (b *builder) attribute(key string, v any) int32 {
	table := b.out.Dictionary().AttributeTable()
	kv := table.AppendEmpty()
	kv.SetKeyStrindex(b.str(key))
	switch v := v.(type) {
	case int:
		kv.Value().SetInt(int64(v))
	case float64:
		kv.Value().SetDouble(v)
	case string:
		kv.Value().SetStr(v)
	}
	return int32(table.Len() - 1)
}

// profile appends a profile of CPU samples of a resource of its own.
func (b *builder) profile(d time.Duration) (pcommon.Map, pprofile.Profile) {
	rp := b.out.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("host.name", "testhost")
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(b.str("samples"))
	prof.SampleType().SetUnitStrindex(b.str("count"))
	prof.PeriodType().SetTypeStrindex(b.str("cpu"))
	prof.PeriodType().SetUnitStrindex(b.str("nanoseconds"))
	prof.SetPeriod(int64(time.Second) / 99)
	prof.SetTime(pcommon.NewTimestampFromTime(time.Unix(1_700_000_000, 0)))
	prof.SetDurationNano(uint64(d))
	return rp.Resource().Attributes(), prof
}

func (b *builder) stack(frames []Frame) int32 {
	table := b.out.Dictionary().StackTable()
	s := table.AppendEmpty()
	for _, f := range frames {
		s.LocationIndices().Append(b.location(f))
	}
	return int32(table.Len() - 1)
}

func (b *builder) location(f Frame) int32 {
	dict := b.out.Dictionary()
	loc := dict.LocationTable().AppendEmpty()
	loc.AttributeIndices().Append(b.attribute("profile.frame.type", f.Type))
	loc.SetAddress(0x1234)
	if f.Module != "" {
		m := dict.MappingTable().AppendEmpty()
		m.SetMemoryLimit(0x10000)
		m.SetFilenameStrindex(b.str(f.Module))
		loc.SetMappingIndex(int32(dict.MappingTable().Len() - 1))
	}
	if f.Name != "" {
		fn := dict.FunctionTable().AppendEmpty()
		fn.SetNameStrindex(b.str(f.Name))
		loc.Lines().AppendEmpty().SetFunctionIndex(int32(dict.FunctionTable().Len() - 1))
	}
	return int32(dict.LocationTable().Len() - 1)
}
