// Package profcheck checks messages of OTLP profiles against what
// opentelemetry/proto/profiles/v1development/profiles.proto asks of them. It
// reads the bytes with the official protobuf package, not with the one that
// wrote them, and is meant for tests.
//
// Demands of the specification that are only recommendations (no duplicates,
// no unused entries) are checked like the others.
package profcheck

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// Check returns what is wrong with an encoded message, in the order in which
// it is found, each problem with the path to it; nothing if all is well.
func Check(encoded []byte) []string {
	msg, err := Decode(encoded)
	if err != nil {
		return []string{err.Error()}
	}
	return CheckMessage(msg)
}

// Decode decodes strictly. Strings that are not UTF-8 are an error.
func Decode(encoded []byte) (*profiles.ProfilesData, error) {
	msg := &profiles.ProfilesData{}
	if err := proto.Unmarshal(encoded, msg); err != nil {
		return nil, fmt.Errorf("decode profiles: %w", err)
	}
	return msg, nil
}

// CheckMessage is Check for a message that is decoded.
func CheckMessage(msg *profiles.ProfilesData) []string {
	c := &checker{dict: msg.GetDictionary()}
	if c.dict == nil {
		c.report("dictionary", "is missing")
		return c.problems
	}
	c.unknownFields("message", msg.ProtoReflect())
	c.sizes = map[table]int{
		tableString:    len(c.dict.StringTable),
		tableAttribute: len(c.dict.AttributeTable),
		tableFunction:  len(c.dict.FunctionTable),
		tableMapping:   len(c.dict.MappingTable),
		tableLocation:  len(c.dict.LocationTable),
		tableStack:     len(c.dict.StackTable),
		tableLink:      len(c.dict.LinkTable),
	}
	c.used = make(map[table]map[int32]bool)
	c.ids = make(map[string]string)
	c.zeroEntries()
	c.tables()
	c.duplicates()
	for i, rp := range msg.ResourceProfiles {
		c.resource(fmt.Sprintf("resource_profiles[%d]", i), rp)
	}
	c.orphans()
	return c.problems
}

// table names one table of the dictionary.
type table string

const (
	tableString    table = "string_table"
	tableAttribute table = "attribute_table"
	tableFunction  table = "function_table"
	tableMapping   table = "mapping_table"
	tableLocation  table = "location_table"
	tableStack     table = "stack_table"
	tableLink      table = "link_table"
)

func (t table) entry(i int) string { return fmt.Sprintf("dictionary.%s[%d]", t, i) }

type checker struct {
	dict     *profiles.ProfilesDictionary
	problems []string
	sizes    map[table]int
	used     map[table]map[int32]bool
	ids      map[string]string // profile ID to where it was seen
}

func (c *checker) report(path, format string, args ...any) {
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

// index checks a reference into a table and notes that the entry is used.
func (c *checker) index(path string, t table, i int32) bool {
	if i < 0 || int(i) >= c.sizes[t] {
		c.report(path, "%d is outside %s with %d entries", i, t, c.sizes[t])
		return false
	}
	if c.used[t] == nil {
		c.used[t] = make(map[int32]bool)
	}
	c.used[t][i] = true
	return true
}

// unknownFields finds fields that the pinned version of the protocol does not
// have: they mean that writer and reader speak different versions.
func (c *checker) unknownFields(path string, m protoreflect.Message) {
	if n := len(m.GetUnknown()); n > 0 {
		c.report(path, "%d bytes of unknown fields", n)
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				c.unknownFields(fmt.Sprintf("%s.%s[%d]", path, fd.Name(), i), v.List().Get(i).Message())
			}
		default:
			c.unknownFields(path+"."+string(fd.Name()), v.Message())
		}
		return true
	})
}
