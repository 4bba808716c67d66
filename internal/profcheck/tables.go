package profcheck

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
)

// zeroEntries checks that index 0 of each table is the zero value.
func (c *checker) zeroEntries() {
	d := c.dict
	if len(d.StringTable) > 0 && d.StringTable[0] != "" {
		c.report(tableString.entry(0), "must be empty, is %q", d.StringTable[0])
	}
	zeroEntry(c, tableAttribute, d.AttributeTable, func(a *profiles.KeyValueAndUnit) bool {
		return a.KeyStrindex == 0 && a.UnitStrindex == 0 && a.GetValue().GetValue() == nil
	})
	zeroEntry(c, tableFunction, d.FunctionTable, isZero)
	zeroEntry(c, tableMapping, d.MappingTable, isZero)
	zeroEntry(c, tableLocation, d.LocationTable, isZero)
	zeroEntry(c, tableStack, d.StackTable, isZero)
	zeroEntry(c, tableLink, d.LinkTable, func(l *profiles.Link) bool {
		return allZero(l.TraceId) && allZero(l.SpanId)
	})
	for _, t := range []table{tableString, tableAttribute, tableFunction, tableMapping, tableLocation, tableStack, tableLink} {
		if c.sizes[t] == 0 {
			c.report("dictionary."+string(t), "must have the zero value at index 0, is empty")
		}
	}
}

func zeroEntry[T proto.Message](c *checker, t table, entries []T, zero func(T) bool) {
	if len(entries) > 0 && !zero(entries[0]) {
		c.report(t.entry(0), "must be the zero value")
	}
}

func isZero[T proto.Message](m T) bool { return proto.Size(m) == 0 }

func allZero(b []byte) bool { return !slices.ContainsFunc(b, func(x byte) bool { return x != 0 }) }

// tables checks each entry by itself.
func (c *checker) tables() {
	for i, a := range c.dict.AttributeTable[min(1, len(c.dict.AttributeTable)):] {
		c.attributeEntry(tableAttribute.entry(i+1), a)
	}
	for i, f := range c.dict.FunctionTable {
		path := tableFunction.entry(i)
		c.index(path+".name_strindex", tableString, f.NameStrindex)
		c.index(path+".system_name_strindex", tableString, f.SystemNameStrindex)
		c.index(path+".filename_strindex", tableString, f.FilenameStrindex)
	}
	for i, m := range c.dict.MappingTable {
		c.mapping(tableMapping.entry(i), m)
	}
	for i, l := range c.dict.LocationTable {
		c.location(tableLocation.entry(i), l)
	}
	for i, s := range c.dict.StackTable {
		for n, l := range s.LocationIndices {
			path := fmt.Sprintf("%s.location_indices[%d]", tableStack.entry(i), n)
			if c.index(path, tableLocation, l) && l == 0 {
				c.report(path, "a stack must not hold the zero location")
			}
		}
	}
	for i, l := range c.dict.LinkTable[min(1, len(c.dict.LinkTable)):] {
		path := tableLink.entry(i + 1)
		if len(l.TraceId) != 16 || allZero(l.TraceId) {
			c.report(path+".trace_id", "must be 16 bytes that are not all zero")
		}
		if len(l.SpanId) != 8 || allZero(l.SpanId) {
			c.report(path+".span_id", "must be 8 bytes that are not all zero")
		}
	}
}

func (c *checker) attributeEntry(path string, a *profiles.KeyValueAndUnit) {
	if c.index(path+".key_strindex", tableString, a.KeyStrindex) && a.KeyStrindex == 0 {
		c.report(path+".key_strindex", "an attribute must have a key")
	}
	c.index(path+".unit_strindex", tableString, a.UnitStrindex)
	if a.GetValue().GetValue() == nil {
		c.report(path+".value", "is missing")
		return
	}
	c.value(path+".value", a.Value)
}

func (c *checker) mapping(path string, m *profiles.Mapping) {
	c.index(path+".filename_strindex", tableString, m.FilenameStrindex)
	c.attributes(path, m.AttributeIndices)
	if m.MemoryLimit != 0 && m.MemoryLimit <= m.MemoryStart {
		c.report(path, "memory_limit %#x is not above memory_start %#x", m.MemoryLimit, m.MemoryStart)
	}
}

func (c *checker) location(path string, l *profiles.Location) {
	c.attributes(path, l.AttributeIndices)
	for n, line := range l.Lines {
		linePath := fmt.Sprintf("%s.lines[%d]", path, n)
		c.index(linePath+".function_index", tableFunction, line.FunctionIndex)
		if line.Line < 0 || line.Column < 0 {
			c.report(linePath, "line %d and column %d must not be negative", line.Line, line.Column)
		}
	}
	if !c.index(path+".mapping_index", tableMapping, l.MappingIndex) || l.MappingIndex == 0 {
		return
	}
	m := c.dict.MappingTable[l.MappingIndex]
	if m.MemoryLimit > m.MemoryStart && (l.Address < m.MemoryStart || l.Address >= m.MemoryLimit) {
		c.report(path+".address", "%#x is outside its mapping [%#x, %#x)", l.Address, m.MemoryStart, m.MemoryLimit)
	}
}

// duplicates finds equal entries. Attribute lists are sets, so their order
// does not make a difference.
func (c *checker) duplicates() {
	d := c.dict
	reportDuplicates(c, tableString, d.StringTable, func(s string) string { return s })
	reportDuplicates(c, tableAttribute, d.AttributeTable, encode)
	reportDuplicates(c, tableFunction, d.FunctionTable, encode)
	reportDuplicates(c, tableStack, d.StackTable, encode)
	reportDuplicates(c, tableLink, d.LinkTable, encode)
	reportDuplicates(c, tableMapping, d.MappingTable, func(m *profiles.Mapping) string {
		m = proto.CloneOf(m)
		slices.Sort(m.AttributeIndices)
		return encode(m)
	})
	reportDuplicates(c, tableLocation, d.LocationTable, func(l *profiles.Location) string {
		l = proto.CloneOf(l)
		slices.Sort(l.AttributeIndices)
		return encode(l)
	})
}

func reportDuplicates[T any](c *checker, t table, entries []T, key func(T) string) {
	seen := make(map[string]int, len(entries))
	for i, e := range entries {
		k := key(e)
		if first, ok := seen[k]; ok {
			c.report(t.entry(i), "is the same as entry %d", first)
			continue
		}
		seen[k] = i
	}
}

func encode[T proto.Message](m T) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		// Only invalid UTF-8 can cause this, and then decoding failed before.
		return fmt.Sprintf("%p", any(m))
	}
	return string(b)
}

// orphans finds entries that nothing refers to.
func (c *checker) orphans() {
	for _, t := range []table{tableString, tableAttribute, tableFunction, tableMapping, tableLocation, tableStack, tableLink} {
		for i := 1; i < c.sizes[t]; i++ {
			if !c.used[t][int32(i)] {
				c.report(t.entry(i), "is not used")
			}
		}
	}
}

// value checks the string references in a value.
func (c *checker) value(path string, v *common.AnyValue) {
	switch x := v.GetValue().(type) {
	case *common.AnyValue_StringValueStrindex:
		c.index(path+".string_value_strindex", tableString, x.StringValueStrindex)
	case *common.AnyValue_ArrayValue:
		for i, e := range x.ArrayValue.GetValues() {
			c.value(fmt.Sprintf("%s[%d]", path, i), e)
		}
	case *common.AnyValue_KvlistValue:
		c.keyValues(path, x.KvlistValue.GetValues())
	}
}
