package otlp_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pprofile"

	"github.com/flametel/flametel/exporter/callgraph"
	"github.com/flametel/flametel/exporter/internal/stackgen"
	"github.com/flametel/flametel/exporter/otlp"
)

func proto(t testing.TB, n int) []byte {
	t.Helper()
	data, err := (&pprofile.ProtoMarshaler{}).MarshalProfiles(stackgen.New(n, 1).Profiles())
	require.NoError(t, err)
	return data
}

func json(t testing.TB, n int) []byte {
	t.Helper()
	data, err := (&pprofile.JSONMarshaler{}).MarshalProfiles(stackgen.New(n, 1).Profiles())
	require.NoError(t, err)
	return data
}

func withLength(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func TestRead(t *testing.T) {
	total := stackgen.New(300, 1).Graph().Total(0)
	one := func(data []byte) []byte { return data }
	tests := []struct {
		name string
		data []byte
		read func([]byte, callgraph.Options) ([]*callgraph.Graph, error)
		want int64
	}{
		{"protobuf", one(proto(t, 300)), otlp.ReadProtobuf, total},
		{"protobuf with lengths", append(withLength(proto(t, 300)), withLength(proto(t, 300))...), otlp.ReadProtobuf, 2 * total},
		{"JSON", json(t, 300), otlp.ReadJSON, total},
		{"JSON with space around", []byte("\n " + string(json(t, 300)) + "\r\n\n"), otlp.ReadJSON, total},
		{"JSON in lines", bytes.Repeat(append(json(t, 300), '\n'), 3), otlp.ReadJSON, 3 * total},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, detail := range []bool{false, true} {
				graphs, err := tt.read(tt.data, callgraph.Options{Detail: detail})
				require.NoError(t, err)
				require.Len(t, graphs, 1)
				assert.Equal(t, tt.want, graphs[0].Total(0))
				assert.Equal(t, "cpu", graphs[0].Name())
			}
			assert.Equal(t, !strings.HasPrefix(tt.name, "JSON"), otlp.Is(tt.data))
		})
	}
}

func TestReadRefuses(t *testing.T) {
	field := func(tag byte, body []byte) []byte {
		return append(binary.AppendUvarint([]byte{tag}, uint64(len(body))), body...)
	}
	var value []byte // an array of an array of ...
	for range 200 {
		value = field(0x2a, field(0x0a, value))
	}
	attribute := field(0x0a, field(0x0a, field(0x0a, field(0x12, value))))
	tests := []struct {
		name string
		data []byte
		read func([]byte, callgraph.Options) ([]*callgraph.Graph, error)
		err  string
	}{
		{"nothing", nil, otlp.ReadProtobuf, "no profiles"},
		{"nothing in JSON", []byte(" "), otlp.ReadJSON, "no profiles"},
		{"no profiles", []byte("{}"), otlp.ReadJSON, "no profiles"},
		{"text", []byte("a;b 1\n"), otlp.ReadProtobuf, "no protobuf message"},
		{"cut", proto(t, 10)[:100], otlp.ReadProtobuf, "no protobuf message"},
		{"cut with length", withLength(proto(t, 10))[:100], otlp.ReadProtobuf, "message 1 is cut off"},
		{"cut length", []byte{0, 0}, otlp.ReadProtobuf, "message 1 is cut off"},
		{"many messages", bytes.Repeat([]byte{0x0a, 0}, 20_000_001), otlp.ReadProtobuf, "more than 20000000 messages"},
		{"nested", attribute, otlp.ReadProtobuf, "nested more than 100 deep"},
		{"cut JSON", []byte(`{"resourceProfiles":[`), otlp.ReadJSON, "message 1 is damaged"},
		{"nested JSON", []byte(strings.Repeat(`{"a":`, 200)), otlp.ReadJSON, "message 1 is nested"},
		{"second message", []byte(`{"resourceProfiles":[]} x`), otlp.ReadJSON, "message 2 is damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.read(tt.data, callgraph.Options{})
			require.ErrorContains(t, err, tt.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(proto(f, 2))
	f.Add(withLength(proto(f, 1)))
	f.Add(json(f, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func([]byte, callgraph.Options) ([]*callgraph.Graph, error){otlp.ReadProtobuf, otlp.ReadJSON} {
			plain, err := read(data, callgraph.Options{})
			if err != nil {
				continue
			}
			detailed, err := read(data, callgraph.Options{Detail: true})
			require.NoError(t, err)
			require.Len(t, detailed, len(plain))
			for i := range plain {
				require.Equal(t, plain[i].Total(0), detailed[i].Total(0))
			}
		}
	})
}
