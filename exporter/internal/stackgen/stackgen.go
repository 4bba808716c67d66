// Package stackgen makes stacks that look like those of a busy host, for tests
// and benchmarks: a random walk over an invented call graph, so that stacks
// share their roots and some paths are far hotter than others.
//
// Everything is a function of the number of stacks and the seed.
package stackgen

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/flametel/flametel/exporter/callgraph"
)

// Stack is one distinct stack.
type Stack struct {
	Frames []int // root first, indices of Set.Functions; the first is a process
	Count  int64
}

// Set is a number of distinct stacks.
type Set struct {
	Functions []callgraph.Frame
	Stacks    []Stack
}

// Shape of the invented program. Depths of 10 to 60 with a median near 20, and
// names of 10 to 80 characters, are what recordings of servers show.
const (
	minDepth, maxDepth = 10, 60
	meanExtraDepth     = 14
	maxCallees         = 12
	maxCount           = 100_000
)

type generator struct {
	*rand.Rand
	set     Set
	callees [][]int
	kernel  []int // indices of kernel functions
	user    []int // indices of all others, processes excepted
	process []int
}

// New returns n distinct stacks.
func New(n int, seed uint64) *Set {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0))}
	g.functions(n)
	seen := make(map[string]bool, n)
	for len(g.set.Stacks) < n {
		s := g.walk()
		key := fmt.Sprint(s.Frames)
		if !seen[key] {
			seen[key] = true
			g.set.Stacks = append(g.set.Stacks, s)
		}
	}
	return &g.set
}

// functions invents functions and who calls whom. Ten times as many stacks have
// about three times as many functions.
func (g *generator) functions(stacks int) {
	count := 400
	for ; stacks > 1000; stacks /= 10 {
		count *= 3
	}
	for _, name := range []string{"nginx", "postgres", "java", "python3", "node", "collector"} {
		g.process = append(g.process, len(g.set.Functions))
		g.set.Functions = append(g.set.Functions, callgraph.Frame{Name: name, Kind: callgraph.Process})
	}
	for range count {
		f := g.function()
		if f.Kind == callgraph.Kernel {
			g.kernel = append(g.kernel, len(g.set.Functions))
		} else {
			g.user = append(g.user, len(g.set.Functions))
		}
		g.set.Functions = append(g.set.Functions, f)
	}
	g.callees = make([][]int, len(g.set.Functions))
	for i := range g.callees {
		pool := g.user
		if g.set.Functions[i].Kind == callgraph.Kernel {
			pool = g.kernel
		}
		for range 2 + g.IntN(maxCallees-2) {
			g.callees[i] = append(g.callees[i], pool[g.IntN(len(pool))])
		}
	}
}

func (g *generator) function() callgraph.Frame {
	switch p := g.Float64(); {
	case p < 0.12:
		return callgraph.Frame{Name: g.words("_", 3), Kind: callgraph.Kernel, Type: "kernel", Module: "[kernel]"}
	case p < 0.24:
		name := "com.example." + g.words(".", 2) + "." + g.camel() + "." + g.words("", 2)
		return callgraph.Frame{Name: name, Kind: callgraph.JIT, Type: "jvm", Module: "[anon]"}
	case p < 0.26:
		name := fmt.Sprintf("[lib%s.so]+0x%x", g.words("", 1), g.IntN(1<<20))
		return callgraph.Frame{Name: name, Type: "native", Module: "/usr/lib/libx.so"}
	case p < 0.32:
		return callgraph.Frame{Name: g.words("::", 3), Kind: callgraph.User, Type: "native", Inlined: true, Module: "/usr/bin/app"}
	}
	return callgraph.Frame{Name: g.userName(), Kind: callgraph.User, Type: "native", Module: "/usr/bin/app"}
}

func (g *generator) userName() string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("std::%s<%s, %s const&>::%s(int)", g.words("_", 2), g.camel(), g.camel(), g.words("_", 2))
	case 1:
		return fmt.Sprintf("example.com/%s/%s.(*%s).%s", g.words("", 1), g.words("", 1), g.camel(), g.camel())
	case 2:
		return fmt.Sprintf("<%s as %s>::%s", g.camel(), g.camel(), g.words("_", 2))
	}
	return g.words("_", 3)
}

func words() []string {
	return strings.Fields(`alloc read write lock poll map tree node hash buf page
		sched net tcp sock json parse proto http serve mark scan sweep iter next
		push copy cmp sort key val ctx req resp handle route exec plan index wal
		flush sync fs blk io irq timer event loop task future wake codec crc rand`)
}

func (g *generator) words(separator string, n int) string {
	list := words()
	picked := make([]string, n)
	for i := range picked {
		picked[i] = list[g.IntN(len(list))]
	}
	return strings.Join(picked, separator)
}

func (g *generator) camel() string {
	a, b := g.words("", 1), g.words("", 1)
	return strings.ToUpper(a[:1]) + a[1:] + strings.ToUpper(b[:1]) + b[1:]
}

// walk follows calls from a process downwards; a third of the stacks end in the
// kernel. Callees at the front of a list are called far more often.
func (g *generator) walk() Stack {
	depth := minDepth + int(g.ExpFloat64()*meanExtraDepth)
	if depth > maxDepth {
		depth = minDepth + g.IntN(maxDepth-minDepth+1)
	}
	toKernel := depth + 1
	if g.IntN(3) == 0 {
		toKernel = depth - 3 - g.IntN(6)
	}
	x := g.Float64()
	process := int(x * x * float64(len(g.process)))
	frames := []int{g.process[process]}
	at := g.user[process*37%len(g.user)]
	for d := 1; d < depth; d++ {
		frames = append(frames, at)
		if d+1 == toKernel {
			at = g.kernel[at*7%min(8, len(g.kernel))]
			continue
		}
		x := g.Float64()
		at = g.callees[at][int(x*x*x*float64(len(g.callees[at])))]
	}
	// Pareto: a few stacks hold most of the samples.
	u := 1 - g.Float64()
	return Stack{Frames: frames, Count: min(maxCount, int64(1/u))}
}

// Concentrate counts the stacks anew by Zipf's law, so that ten of a thousand hold
// most samples, and returns the set. The stacks that the goals for the size of
// files were set with are counted so. New is nearer to a busy host, where most
// stacks are seen once.
func (s *Set) Concentrate() *Set {
	r := rand.New(rand.NewPCG(uint64(len(s.Stacks)), 1))
	law := rand.NewZipf(r, 1.35, 1, 2*maxCount)
	for i := range s.Stacks {
		s.Stacks[i].Count = 1 + int64(law.Uint64())
	}
	return s
}

// Graph returns the stacks merged.
func (s *Set) Graph() *callgraph.Graph {
	m := callgraph.NewMerger(1)
	ids := make([]int32, len(s.Functions))
	for i, f := range s.Functions {
		ids[i] = m.Frame(f)
	}
	var path []int32
	for _, st := range s.Stacks {
		path = path[:0]
		for _, f := range st.Frames {
			path = append(path, ids[f])
		}
		m.Add(path, 0, st.Count)
	}
	g := m.Graph()
	g.SampleType = callgraph.ValueType{Type: "samples", Unit: "count"}
	g.PeriodType = callgraph.ValueType{Type: "cpu", Unit: "nanoseconds"}
	g.Period = 1_000_000_000 / 99
	return g
}
