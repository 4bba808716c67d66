package choose_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/choose"
)

// stack is a process, its thread, frames root first, and a count. Frames that
// begin with k: are the kernel's.
type stack struct {
	process, thread, frames string
	count                   int64
}

func someStacks() []stack {
	return []stack{
		{"web", "web", "main serve parse", 10},
		{"web", "flusher", "main serve k:write k:ext4", 20},
		{"db", "db", "main query", 30},
		{"kworker", "kworker/0:1", "k:worker_thread k:flush", 40},
	}
}

func message(stacks []stack) pprofile.Profiles {
	p := pprofile.NewProfiles()
	d := p.Dictionary()
	str := func(s string) int32 {
		d.StringTable().Append(s)
		return int32(d.StringTable().Len() - 1)
	}
	attribute := func(key, value string) int32 {
		kv := d.AttributeTable().AppendEmpty()
		kv.SetKeyStrindex(str(key))
		kv.Value().SetStr(value)
		return int32(d.AttributeTable().Len() - 1)
	}
	str("")
	d.AttributeTable().AppendEmpty()
	d.LocationTable().AppendEmpty()
	d.FunctionTable().AppendEmpty()
	d.StackTable().AppendEmpty()
	for _, s := range stacks {
		st := d.StackTable().AppendEmpty()
		index := int32(d.StackTable().Len() - 1)
		names := strings.Fields(s.frames)
		for i := len(names) - 1; i >= 0; i-- {
			name, kernel := strings.CutPrefix(names[i], "k:")
			d.FunctionTable().AppendEmpty().SetNameStrindex(str(name))
			loc := d.LocationTable().AppendEmpty()
			loc.Lines().AppendEmpty().SetFunctionIndex(int32(d.FunctionTable().Len() - 1))
			if kernel {
				loc.AttributeIndices().Append(attribute("profile.frame.type", "kernel"))
			}
			st.LocationIndices().Append(int32(d.LocationTable().Len() - 1))
		}
		rp := p.ResourceProfiles().AppendEmpty()
		rp.Resource().Attributes().PutStr("process.executable.name", s.process)
		rp.Resource().Attributes().PutStr("host.name", "h")
		prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
		prof.SampleType().SetTypeStrindex(str("samples"))
		prof.SampleType().SetUnitStrindex(str("count"))
		sample := prof.Samples().AppendEmpty()
		sample.SetStackIndex(index)
		sample.Values().Append(s.count)
		sample.AttributeIndices().Append(attribute("thread.name", s.thread))
	}
	return p
}

// result is what a graph made of the message holds, and what it says to be left
// out.
func result(p pprofile.Profiles) (stacks map[string]int64, leftOut int64) {
	b := callgraph.NewBuilder(callgraph.Options{Roots: callgraph.Functions})
	b.Add(p)
	stacks = map[string]int64{}
	for _, g := range b.Graphs() {
		if g.Meta.Accounting != nil {
			leftOut += g.Meta.Accounting.LeftOut
		}
		for i, v := range g.Self[0] {
			if v == 0 {
				continue
			}
			var names []string
			for n := int32(i); n > 0; n = g.Nodes[n].Parent {
				names = append([]string{g.Frames[g.Nodes[n].Frame].Name}, names...)
			}
			stacks[strings.Join(names, " ")] += v
		}
	}
	return stacks, leftOut
}

func TestApply(t *testing.T) {
	t.Parallel()
	all := map[string]int64{"main serve parse": 10, "main serve write ext4": 20, "main query": 30, "worker_thread flush": 40}
	re := regexp.MustCompile
	for name, test := range map[string]struct {
		choice choose.Choice
		want   map[string]int64
	}{
		"all":                    {choose.Choice{}, all},
		"all frames":             {choose.Choice{Frames: choose.All}, all},
		"function":               {choose.Choice{Include: re("^parse$")}, map[string]int64{"main serve parse": 10}},
		"function in the middle": {choose.Choice{Include: re("erv")}, map[string]int64{"main serve parse": 10, "main serve write ext4": 20}},
		"process":                {choose.Choice{Include: re("^db$")}, map[string]int64{"main query": 30}},
		"thread":                 {choose.Choice{Include: re("^flusher$")}, map[string]int64{"main serve write ext4": 20}},
		"exclude":                {choose.Choice{Exclude: re("main")}, map[string]int64{"worker_thread flush": 40}},
		"exclude wins":           {choose.Choice{Include: re("web"), Exclude: re("ext4")}, map[string]int64{"main serve parse": 10}},
		"kernel":                 {choose.Choice{Frames: choose.Kernel}, map[string]int64{"write ext4": 20, "worker_thread flush": 40}},
		"user":                   {choose.Choice{Frames: choose.User}, map[string]int64{"main serve parse": 10, "main serve": 20, "main query": 30}},
		"by frames that are cut": {choose.Choice{Include: re("^main$"), Frames: choose.Kernel}, map[string]int64{"write ext4": 20}},
		"nothing":                {choose.Choice{Include: re("nowhere")}, map[string]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := message(someStacks())
			test.choice.Apply(p)
			got, leftOut := result(p)
			assert.Equal(t, test.want, got)
			kept := int64(0)
			for _, n := range got {
				kept += n
			}
			assert.Equal(t, int64(100), kept+leftOut, "nothing vanishes silently")
		})
	}
}

// The tables of a message hold no entry twice.
func TestCutStacksAreShared(t *testing.T) {
	t.Parallel()
	p := message(someStacks()[:1])
	d := p.Dictionary()
	whole := d.StackTable().At(1).LocationIndices().AsRaw()
	loc := d.LocationTable().AppendEmpty()
	kernel := d.AttributeTable().AppendEmpty()
	kernel.SetKeyStrindex(int32(d.StringTable().Len()))
	d.StringTable().Append("profile.frame.type")
	kernel.Value().SetStr("kernel")
	loc.AttributeIndices().Append(int32(d.AttributeTable().Len() - 1))
	samples := p.ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().At(0).Samples()
	for range 2 { // stacks that differ only in a kernel frame
		d.StackTable().AppendEmpty().LocationIndices().FromRaw(append([]int32{int32(d.LocationTable().Len() - 1)}, whole...))
		s := samples.AppendEmpty()
		s.SetStackIndex(int32(d.StackTable().Len() - 1))
		s.Values().Append(1)
		whole = append([]int32{int32(d.LocationTable().Len() - 1)}, whole...)
	}
	before := d.StackTable().Len()
	(&choose.Choice{Frames: choose.User}).Apply(p)
	assert.Equal(t, before+1, d.StackTable().Len(), "one stack for both")
	assert.Equal(t, samples.At(1).StackIndex(), samples.At(2).StackIndex())
}

// FuzzApply: whatever a message holds, it comes out without a panic, and what it
// counts is either there or said to be left out.
func FuzzApply(f *testing.F) {
	encoded, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(message(someStacks()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded, "main", "", uint8(0))
	f.Add(encoded, "", "ext4", uint8(1))
	f.Add(encoded, "web", "parse", uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, include, exclude string, frames uint8) {
		p, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
		if err != nil {
			t.Skip()
		}
		c := choose.Choice{Frames: []choose.Frames{choose.All, choose.Kernel, choose.User}[frames%3]}
		if c.Include, err = regexp.Compile(include); err != nil {
			t.Skip()
		}
		if c.Exclude, err = regexp.Compile(exclude); err != nil {
			t.Skip()
		}
		before, _ := total(p)
		c.Apply(p)
		kept, leftOut := total(p)
		if c.Frames == choose.All && before != kept+leftOut {
			t.Errorf("%d before, %d kept, %d left out", before, kept, leftOut)
		}
	})
}

// total is what the samples of a message count, and what it says to be left out.
func total(p pprofile.Profiles) (samples, leftOut uint64) {
	for _, rp := range p.ResourceProfiles().All() {
		accounting := callgraph.IsAccounting(rp.Resource().Attributes())
		for _, sp := range rp.ScopeProfiles().All() {
			for _, prof := range sp.Profiles().All() {
				if accounting && sp.Scope().Name() == "github.com/flametel/flametel/exporter/choose" {
					at := prof.AttributeIndices().At(0)
					leftOut += uint64(p.Dictionary().AttributeTable().At(int(at)).Value().Int())
				}
				for _, s := range prof.Samples().All() {
					if v, ok := callgraph.Value(s); ok {
						samples += uint64(v)
					}
				}
			}
		}
	}
	return samples, leftOut
}
