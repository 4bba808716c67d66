package otlpcheck

import (
	"fmt"

	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"
)

// tables checks what can be said of each table by itself.
func (c *checker) tables() {
	d := c.dict
	table(c, "mapping", d.MappingTable)
	table(c, "location", d.LocationTable)
	table(c, "function", d.FunctionTable)
	table(c, "link", d.LinkTable)
	table(c, "attribute", d.AttributeTable)
	table(c, "stack", d.StackTable)

	seen := map[string]bool{}
	for i, s := range d.StringTable {
		c.require(!seen[s], "string %d is an entry twice: %q", i, s)
		seen[s] = true
	}
	c.require(len(d.StringTable) > 0 && d.StringTable[0] == "", "string 0 is not empty")
	for i, l := range d.LinkTable[min(1, len(d.LinkTable)):] {
		c.require(len(l.TraceId) == 16 && len(l.SpanId) == 8, "link %d has IDs of %d and %d bytes", i+1, len(l.TraceId), len(l.SpanId))
	}
}

// table checks that entry 0 is the zero value and that no entry is there twice.
func table[M proto.Message](c *checker, name string, entries []M) {
	if len(entries) == 0 {
		c.require(false, "the %s table has no entry 0", name)
		return
	}
	seen := map[string]int{}
	for i, entry := range entries {
		bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(entry)
		c.require(err == nil, "%s %d: %v", name, i, err)
		c.require(i > 0 || len(bytes) == 0, "%s 0 is not the zero value", name)
		first, twice := seen[string(bytes)]
		c.require(!twice, "%s %d equals %s %d", name, i, name, first)
		seen[string(bytes)] = i
	}
}

func (c *checker) reachAttributes(indices []int32, from string) {
	keys := map[string]bool{}
	for _, index := range indices {
		c.require(index != 0, "%s: attribute 0 stands for none", from)
		first := c.reach(c.attributes, index, from)
		if index < 0 || int(index) >= len(c.dict.AttributeTable) {
			continue
		}
		a := c.dict.AttributeTable[index]
		at := fmt.Sprintf("attribute %d", index)
		key := c.text(a.KeyStrindex, at)
		c.require(!keys[key], "%s: attribute %q twice", from, key)
		keys[key] = true
		if first {
			c.text(a.UnitStrindex, at)
			c.require(index == 0 || key != "", "%s has no key", at)
		}
	}
}

func (c *checker) reachStack(index int32, from string) {
	if !c.reach(c.stacks, index, from) {
		return
	}
	at := fmt.Sprintf("stack %d", index)
	locations := c.dict.StackTable[index].LocationIndices
	c.require(index == 0 || len(locations) > 0, "%s is empty", at)
	for _, l := range locations {
		c.require(l != 0, "%s: location 0 stands for none", at)
		c.reachLocation(l, at)
	}
}

func (c *checker) reachLocation(index int32, from string) {
	if !c.reach(c.locations, index, from) {
		return
	}
	at := fmt.Sprintf("location %d", index)
	l := c.dict.LocationTable[index]
	c.reachMapping(l.MappingIndex, at)
	c.reachAttributes(l.AttributeIndices, at)
	for _, line := range l.Lines {
		c.require(line.FunctionIndex != 0, "%s: function 0 stands for none", at)
		c.reachFunction(line.FunctionIndex, at)
	}
	c.require(index == 0 || len(l.Lines) > 0 || l.MappingIndex != 0 && l.Address != 0,
		"%s has neither a line nor an address in a mapping", at)
}

func (c *checker) reachMapping(index int32, from string) {
	if !c.reach(c.mappings, index, from) {
		return
	}
	at := fmt.Sprintf("mapping %d", index)
	m := c.dict.MappingTable[index]
	c.text(m.FilenameStrindex, at)
	c.reachAttributes(m.AttributeIndices, at)
	c.require(m.MemoryStart <= m.MemoryLimit, "%s ends at %#x, before its start at %#x", at, m.MemoryLimit, m.MemoryStart)
}

func (c *checker) reachFunction(index int32, from string) {
	if !c.reach(c.functions, index, from) {
		return
	}
	at := fmt.Sprintf("function %d", index)
	f := c.dict.FunctionTable[index]
	name := c.text(f.NameStrindex, at)
	system := c.text(f.SystemNameStrindex, at)
	c.text(f.FilenameStrindex, at)
	c.require(index == 0 || name != "" || system != "", "%s has no name", at)
}

// Text returns the string at an index of the dictionary, "" if there is none.
func Text(d *profiles.ProfilesDictionary, index int32) string {
	if index < 0 || int(index) >= len(d.GetStringTable()) {
		return ""
	}
	return d.StringTable[index]
}
