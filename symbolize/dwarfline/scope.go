package dwarfline

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

const (
	// maxScopes bounds the namespaces and classes of a unit; C++ units that
	// include large libraries have some ten thousand.
	maxScopes = 1 << 18
	// maxScopeDepth bounds how deep names are nested.
	maxScopeDepth = 64
)

// scope is a namespace or a class, by the places of its entries from the start
// of the unit.
type scope struct {
	start, end uint32
	parent     int32 // -1 if it is in none
	namespace  bool
}

// scopeTable has the scopes of a unit in the order of the file.
type scopeTable []scope

func (t scopeTable) bytes() int64 { return int64(cap(t)) * int64(unsafe.Sizeof(scope{})) }

// isScope tells the entries that names are qualified by.
func isScope(t dwarf.Tag) bool {
	switch t {
	case dwarf.TagNamespace, dwarf.TagModule, dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagInterfaceType:
		return true
	}
	return false
}

// qualified tells the languages whose names are in namespaces and classes, and
// may lack linkage names: C++ in its versions (DWARF 5, table 7.17 and the codes
// assigned since).
func qualified(language uint16) bool {
	switch language {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a:
		return true
	}
	return false
}

// scopeOf returns the names of the namespaces and classes that the entry at
// decl is in, joined by "::", "" if it is in none.
func (s *session) scopeOf(u *unit, decl uint64) (string, error) {
	im := s.d.main
	if decl&inSupplement != 0 {
		im = s.d.supplement
	}
	h, ok := im.unitAt(decl &^ inSupplement)
	if !ok {
		return "", fmt.Errorf("%w: an entry at %#x is in no unit", ErrFormat, decl)
	}
	t, ok := u.scopes[h]
	if !ok {
		var err error
		if t, err = s.loadScopes(im, h); err != nil {
			return "", err
		}
		if u.scopes == nil {
			u.scopes = make(map[*unitHead]scopeTable)
		}
		u.scopes[h] = t
		s.d.grow(u, t.bytes()+48)
	}
	var names []string
	length := 0
	at := decl
	for {
		i := t.around(uint32(at&^inSupplement - h.off))
		if i < 0 {
			break
		}
		at = h.off + uint64(t[i].start) | decl&inSupplement
		n, err := s.name(at)
		if err != nil {
			return "", err
		}
		text := n.name
		switch {
		case text == "" && t[i].namespace:
			text = "(anonymous namespace)"
		case text == "":
			text = "{unnamed type}"
		}
		names = append(names, text)
		if n.decl >= h.off|decl&inSupplement && n.decl < h.end|decl&inSupplement {
			at = n.decl // a class that is declared in another one and defined outside
		}
		if length += len(text); length > maxString || len(names) > maxScopeDepth {
			return "", fmt.Errorf("%w: name of the scope of %#x", ErrTooBig, decl)
		}
	}
	slices.Reverse(names)
	return strings.Join(names, "::"), nil
}

// around returns the innermost scope that an entry is in, -1 if it is in none.
func (t scopeTable) around(at uint32) int32 {
	n, _ := slices.BinarySearchFunc(t, at, func(s scope, at uint32) int {
		if s.start < at {
			return -1
		}
		return 1
	})
	i := int32(n) - 1
	for i >= 0 && t[i].end <= at {
		i = t[i].parent
	}
	return i
}

// loadScopes reads where the scopes of a unit are. What functions contain is
// left out where entries say what follows them.
func (s *session) loadScopes(im *image, h *unitHead) (scopeTable, error) {
	abbrevs, err := readAbbrevs(s.cursor(im, secAbbrev), h.abbrev, h, 0)
	if err != nil {
		return nil, err
	}
	u := &unit{head: h, abbrevs: abbrevs}
	var t scopeTable
	var open []int32 // by depth: the scope that the entries there are in
	c := s.cursor(im, secInfo)
	c.window = scanWindow
	c.seek(h.die, h.end)
	inside := int32(-1)
	for c.more() {
		start := uint32(c.pos - h.off)
		code := c.uleb()
		if code == 0 {
			n := len(open) - 1
			if n < 0 {
				break
			}
			if inside >= 0 && inside != open[n] {
				t[inside].end = uint32(c.pos - h.off)
			}
			inside, open = open[n], open[:n]
			continue
		}
		d, ok := abbrevs.find(code)
		if !ok {
			return nil, fmt.Errorf("%w: entry at %#x uses abbreviation %d", ErrFormat, h.off+uint64(start), code)
		}
		next := u.sibling(c, d)
		if !d.children {
			continue
		}
		if holdsScopes := isScope(d.tag) || len(open) == 0; !holdsScopes && next > c.pos && next <= c.end {
			c.seek(next, c.end)
			continue
		}
		if len(open) >= maxDepth || len(t) >= maxScopes {
			return nil, fmt.Errorf("%w: scopes of the unit at %#x", ErrTooBig, h.off)
		}
		open = append(open, inside)
		if isScope(d.tag) {
			t = append(t, scope{start: start, end: uint32(h.end - h.off), parent: inside, namespace: d.tag == dwarf.TagNamespace || d.tag == dwarf.TagModule})
			inside = int32(len(t) - 1)
		}
	}
	return slices.Clip(t), c.err
}
