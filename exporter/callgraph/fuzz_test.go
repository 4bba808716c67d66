package callgraph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
)

// FuzzBuilder feeds whatever decodes as an OTLP message. The graph always is
// well formed, and with and without detail it has the same totals.
func FuzzBuilder(f *testing.F) {
	m := newMessage()
	loc := m.location(m.mapping("/bin/app"), 0x1004, m.function("inner"), m.function("f"), "native")
	s := m.sample(m.profile("app"), m.stack(loc, 0, 99), 3)
	s.AttributeIndices().Append(m.attribute("thread.name", "worker"), m.intAttribute("thread.id", 7), -4)
	m.accounting("h", map[string]any{"flametel.samples.taken": 5, "flametel.samples.lost.x": 1})
	seed, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(m.Profiles)
	require.NoError(f, err)
	f.Add(seed)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
		if err != nil {
			return
		}
		p.MarkReadOnly()
		var totals [2][]int64
		for i, detail := range []bool{false, true} {
			b := callgraph.NewBuilder(callgraph.Options{Detail: detail})
			b.Add(p)
			for _, g := range b.Graphs() {
				checkInvariants(t, g)
				totals[i] = append(totals[i], g.Total(0))
			}
		}
		require.Equal(t, totals[0], totals[1])
	})
}
