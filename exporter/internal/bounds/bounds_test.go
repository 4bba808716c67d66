package bounds

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProtobuf(t *testing.T) {
	tree := Message{}
	tree[1] = tree
	deep := []byte{}
	for range 50 {
		deep = append([]byte{0x0a, byte(len(deep))}, deep...)
	}
	tests := []struct {
		name string
		data []byte
		err  string
	}{
		{"empty", nil, ""},
		{"numbers", []byte{0x08, 0x96, 0x01, 0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4}, ""},
		{"nested", deep, ""},
		{"bytes that are no message", []byte{0x12, 1, 0xff}, ""},
		{"field 0", []byte{0x02, 0}, "no protobuf"},
		{"group", []byte{0x0b}, "no protobuf"},
		{"cut varint", []byte{0x08, 0x80}, "no protobuf"},
		{"cut number", []byte{0x0d, 1, 2}, "no protobuf"},
		{"longer than the rest", []byte{0x0a, 5, 1}, "no protobuf"},
		{"length beyond 63 bits", append([]byte{0x0a}, bytes.Repeat([]byte{0xff}, 9)...), "no protobuf"},
		{"damaged inside", []byte{0x0a, 1, 0xff}, "no protobuf"},
		{"many", bytes.Repeat([]byte{0x0a, 0}, maxMessages), "more than 20000000 messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Protobuf(tt.data, tree)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tt.err)
			}
		})
	}
	fields, err := Protobuf([]byte{0x08, 1, 0x12, 0}, tree)
	require.NoError(t, err)
	assert.Equal(t, map[int]bool{1: true, 2: true}, fields)

	var endless []byte // each level in the one before, with lengths of four bytes
	for range 200 {
		n := len(endless)
		endless = append([]byte{0x0a, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}, endless...)
	}
	_, err = Protobuf(endless, tree)
	assert.ErrorContains(t, err, "nested more than 100 deep")
}

func TestJSON(t *testing.T) {
	require.NoError(t, JSON([]byte(`{"a":[1,{"b":"[[[\"{{{"}]}`)))
	assert.ErrorContains(t, JSON([]byte(strings.Repeat("[", 101))), "nested")
	require.NoError(t, JSON([]byte(`"`+strings.Repeat("[", 101)+`"`)))
	assert.ErrorContains(t, JSON([]byte(strings.Repeat("{},", maxMessages+1))), "more than")
}
