//go:build linux

package event

import (
	"math/bits"

	"github.com/flametel/flametel/bpf"
)

// group is the events of a program that are alike, and the stacks seen of them.
type group struct {
	total  bpf.Sample
	stacks []bpf.Sample
}

type groupKey struct {
	pid            uint32
	start          uint64
	exec           uint16
	detail, record uint64
}

// weight is the index of the sum that says what a stack stands for.
const weight = len(bpf.Sample{}.Sums) - 1

// shareOut gives each stack that was looked at its part of the exact totals, in
// proportion to what it stands for. The parts add up to the totals, and without
// a stack the total stays a sample by itself. The slice is used again.
func shareOut(samples []bpf.Sample) []bpf.Sample {
	var order []*group
	groups := make(map[groupKey]*group)
	out := samples[:0]
	for i := range samples {
		s := &samples[i]
		if s.Flags&(bpf.Total|bpf.Selected) == 0 {
			out = append(out, *s)
			continue
		}
		key := groupKey{s.PID, s.StartNanos, s.Exec, s.Detail, s.RecordID}
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key] = g
			order = append(order, g)
		}
		g.add(s)
	}
	for _, g := range order {
		out = g.appendParts(out)
	}
	return out
}

func (g *group) add(s *bpf.Sample) {
	switch {
	case s.Flags&bpf.Selected != 0:
		g.stacks = append(g.stacks, *s)
	case g.total.Count == 0:
		g.total = *s
		g.total.Flags &^= bpf.Total
	default: // of another CPU
		g.total.Count += s.Count
		for i := range weight {
			g.total.Sums[i] += s.Sums[i]
		}
		g.total.LastNanos = max(g.total.LastNanos, s.LastNanos)
	}
}

// appendParts appends one sample for each stack.
func (g *group) appendParts(out []bpf.Sample) []bpf.Sample {
	if g.total.Count == 0 {
		return out // the total was lost, and counted so
	}
	g.choose()
	var whole, upTo, before [weight + 1]uint64 // sums, and the weight last
	for i := range g.stacks {
		for k, sum := range g.stacks[i].Sums {
			whole[k] += sum
		}
	}
	if whole[weight] == 0 {
		g.total.End = bpf.EndNotLooked
		return append(out, g.total)
	}
	for i := range g.stacks {
		s := g.stacks[i]
		for k, sum := range s.Sums {
			upTo[k] += sum
		}
		var now [weight + 1]uint64
		now[weight] = portion(g.total.Count, upTo[weight], whole[weight])
		for k := range weight {
			by := k
			if whole[k] == 0 {
				by = weight
			}
			now[k] = portion(g.total.Sums[k], upTo[by], whole[by])
		}
		s.Flags &^= bpf.Selected
		s.Count, s.Sums[weight] = now[weight]-before[weight], 0
		for k := range weight {
			s.Sums[k] = now[k] - before[k]
		}
		before = now
		if s.Count > 0 || s.Sums != [weight + 1]uint64{} {
			out = append(out, s)
		}
	}
	return out
}

// choose keeps the stacks that were chosen by chance. If there are none, those
// of first events have to do, each as often as it was seen.
func (g *group) choose() {
	chosen := g.stacks[:0:0]
	for i := range g.stacks {
		if g.stacks[i].Sums[weight] > 0 {
			chosen = append(chosen, g.stacks[i])
		}
	}
	if len(chosen) > 0 {
		g.stacks = chosen
		return
	}
	for i := range g.stacks {
		g.stacks[i].Sums[weight] = g.stacks[i].Count
	}
}

// portion returns total * part / whole; part is at most whole, which is not 0.
func portion(total, part, whole uint64) uint64 {
	high, low := bits.Mul64(total, part)
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}
