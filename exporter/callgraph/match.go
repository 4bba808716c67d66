package callgraph

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// matcher makes frames of two graphs equal that stand for the same function.
type matcher struct {
	exact     bool
	processes bool // both sides have some
	names     map[*Frame]matchKey
	chosen    map[matchKey]Frame
}

type matchKey struct {
	name    string
	process bool
}

func newMatcher(sides [2]*Graph, exact bool) *matcher {
	m := &matcher{
		exact:     exact,
		processes: hasProcess(sides[Before]) && hasProcess(sides[After]),
		names:     map[*Frame]matchKey{},
		chosen:    map[matchKey]Frame{},
	}
	// The second side has the last word on what a frame looks like.
	for _, g := range []*Graph{sides[After], sides[Before]} {
		found := map[matchKey]Frame{}
		for i := range g.Frames {
			key := m.key(&g.Frames[i])
			f := shown(&g.Frames[i], key.name)
			if other, ok := found[key]; !ok || better(&f, &other) {
				found[key] = f
			}
		}
		for key, f := range found {
			if _, ok := m.chosen[key]; !ok {
				m.chosen[key] = f
			}
		}
	}
	m.placeShared(sides)
	return m
}

// sharing is what the functions of one name have in one module.
type sharing struct {
	frame Frame
	sides [2]bool
	share float64 // the sum of those of both sides
}

// placeShared corrects frames that functions of several modules of one side became:
// each is what it is in the module that most is in, and names how many more there are.
// A module on one side and another on the other are one that was renamed.
func (m *matcher) placeShared(sides [2]*Graph) {
	modules := map[matchKey]map[string]*sharing{}
	for _, side := range []int{After, Before} {
		g := sides[side]
		weights, _ := g.ByFrame(0)
		total := g.Total(0)
		for i := range g.Frames {
			f := &g.Frames[i]
			if f.Module == "" {
				continue
			}
			key, module := m.key(f), moduleKey(f.Module)
			if modules[key] == nil {
				modules[key] = map[string]*sharing{}
			}
			in := modules[key][module]
			if in == nil {
				in = &sharing{frame: shown(f, key.name)}
				modules[key][module] = in
			}
			in.sides[side] = true
			in.share += ratio(weights[i], total)
		}
	}
	for key, in := range modules {
		var counts [2]int
		var most *sharing
		for _, module := range slices.Sorted(maps.Keys(in)) {
			s := in[module]
			for side, there := range s.sides {
				if there {
					counts[side]++
				}
			}
			if most == nil || s.share > most.share {
				most = s
			}
		}
		if n := max(counts[Before], counts[After]); n > 1 {
			f := most.frame
			f.Module = fmt.Sprintf("%s and %d more", sharedWith.ReplaceAllString(f.Module, ""), n-1)
			m.chosen[key] = f
		}
	}
}

// moduleKey is by what modules are told apart here: formats differ in whether they
// have whole paths.
func moduleKey(module string) string {
	if isKernelImage(module) {
		return "[kernel]"
	}
	return normalModule(bracketed(sharedWith.ReplaceAllString(module, "")))
}

// sharedWith is what a comparison says after a module, which may be compared again.
var sharedWith = regexp.MustCompile(` and [0-9]+ more$`)

// hasProcess reports whether a profile says which process a stack is of; one
// without stacks contradicts nobody.
func hasProcess(g *Graph) bool {
	return len(g.Nodes) == 1 || slices.ContainsFunc(g.Frames, func(f Frame) bool { return f.Kind == Process })
}

func (m *matcher) key(f *Frame) matchKey {
	key, ok := m.names[f]
	if !ok {
		key = matchKey{f.Name, f.Kind == Process}
		if !m.exact {
			key.name = NormalName(f)
		}
		m.names[f] = key
	}
	return key
}

// shown returns a frame without what belongs to one address.
func shown(f *Frame, name string) Frame {
	return Frame{
		Name: name, Kind: f.Kind, Type: f.Type, Module: f.Module,
		File: f.File, StartLine: f.StartLine,
	}
}

// better prefers frames of a known kind, then the first in order.
func better(f, g *Frame) bool {
	if (f.Kind == Unknown) != (g.Kind == Unknown) {
		return f.Kind != Unknown
	}
	return f.Compare(g) < 0
}

// add adds one side. Placeholders without an address that follow each other are
// one frame: how many there are depends on how a build laid out its code.
func (m *matcher) add(merger *Merger, side int, g *Graph) {
	ids := make([]int32, len(g.Frames))
	collapse := make([]bool, len(g.Frames))
	for i := range g.Frames {
		f := &g.Frames[i]
		if f.Kind == Thread || f.Kind == Process && !m.processes {
			ids[i] = -1
			continue
		}
		ids[i] = merger.Frame(m.chosen[m.key(f)])
		collapse[i] = !m.exact && IsPlaceholder(f.Name)
	}
	moved := make([]int32, len(g.Nodes))
	for i := range g.Nodes {
		if i > 0 {
			at, frame := moved[g.Nodes[i].Parent], g.Nodes[i].Frame
			id := ids[frame]
			repeated := collapse[frame] && merger.trie.frame[at] == id
			if id >= 0 && !repeated {
				at = merger.trie.child(at, id)
			}
			moved[i] = at
		}
		if v := g.Self[0][i]; v > 0 {
			merger.addAt(moved[i], side, v)
		}
	}
}
