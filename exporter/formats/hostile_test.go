package formats_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/formats"
)

// hostileNames are names that broke some tool or other.
func hostileNames() []string {
	names := []string{
		"", " ", ";", "a;b", "f 12", "tab\there", "line\nbreak", "\r", "]]>", "</script><script>alert(1)", "&#0;", "<!--", "\"'`", "\ufeff",
		"\u202eevil", "\u2028", "\ufffe", "\xff\xfe", "\xed\xa0\x80", "\xc3(", "[u8; 8]", "{\"a\":1}", "日本語", strings.Repeat("x", 64<<10), "-", "--", "[k]", "x_[k]", "x_[0]",
	}
	for c := range 32 {
		names = append(names, "c"+string(rune(c)))
	}
	return names
}

// Names of any bytes survive every format as something, and never change totals.
func TestHostileNamesThroughEveryFormat(t *testing.T) {
	m := callgraph.NewMerger(1)
	var want int64
	for i, name := range hostileNames() {
		for _, f := range []callgraph.Frame{
			{Name: name, Kind: callgraph.User, Module: name, File: name, SystemName: name},
			{Name: name, Kind: callgraph.JIT, Inlined: true},
		} {
			m.Add([]int32{m.Frame(callgraph.Frame{Name: name, Kind: callgraph.Process}), m.Frame(f), m.Frame(callgraph.Frame{Name: "leaf", Kind: callgraph.User})}, 0, int64(i+1))
			want += int64(i + 1)
		}
	}
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "a\xff;\n", Unit: "<u>\x00"}
	g.Meta.Hosts = hostileNames()
	for _, first := range formats.WrittenNames() {
		data := written(t, first, g)
		if first == "speedscope" {
			assert.True(t, json.Valid(data))
		}
		if first != "pprof" {
			assert.True(t, utf8.Valid(data), first)
		}
		p := read(t, data, formats.ReadOptions{})
		require.Equal(t, want, p.Graphs[0].Total(0), first)
		require.Equal(t, int32(3), maxDepth(p.Graphs[0]), first)
		for _, second := range formats.WrittenNames() {
			require.Equal(t, want, read(t, written(t, second, p.Graphs[0]), formats.ReadOptions{}).Graphs[0].Total(0), "%s %s", first, second)
		}
	}
}

// Strings that are not UTF-8 in a message of others lose nothing but themselves.
func TestInvalidStringsInMessages(t *testing.T) {
	p := pprofile.NewProfiles()
	d := p.Dictionary()
	d.StringTable().Append("", "f\xff", "cpu", "count")
	d.FunctionTable().AppendEmpty()
	d.FunctionTable().AppendEmpty().SetNameStrindex(1)
	d.LocationTable().AppendEmpty()
	d.LocationTable().AppendEmpty().Lines().AppendEmpty().SetFunctionIndex(1)
	d.StackTable().AppendEmpty()
	d.StackTable().AppendEmpty().LocationIndices().Append(1)
	rp := p.ResourceProfiles().AppendEmpty()
	rp.Resource().Attributes().PutStr("process.executable.name", "a\xfeb")
	prof := rp.ScopeProfiles().AppendEmpty().Profiles().AppendEmpty()
	prof.SampleType().SetTypeStrindex(2)
	prof.SampleType().SetUnitStrindex(3)
	s := prof.Samples().AppendEmpty()
	s.SetStackIndex(1)
	s.Values().Append(7)
	data, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(p)
	require.NoError(t, err)
	g := read(t, data, formats.ReadOptions{}).Graphs[0]
	assert.Equal(t, "a\ufffdb;f\ufffd 7\n", foldedText(t, g))
	for _, name := range formats.WrittenNames() {
		assert.Equal(t, int64(7), read(t, written(t, name, g), formats.ReadOptions{}).Graphs[0].Total(0), name)
	}
}

// Values at the ends of what 64 bits hold.
func TestExtremeValues(t *testing.T) {
	g := read(t, []byte("a 0\nb 9223372036854775807\nc 5\n"), formats.ReadOptions{}).Graphs[0]
	for _, name := range formats.WrittenNames() {
		assert.Equal(t, int64(math.MaxInt64), read(t, written(t, name, g), formats.ReadOptions{}).Graphs[0].Total(0), name)
	}
	_, err := formats.Read(bytes.NewReader([]byte("a -5\n")), formats.ReadOptions{Format: "folded"})
	assert.ErrorContains(t, err, `"-5" is not a count of 0 or more`)
}
